import { defineContract } from '../definition/define.ts';
import { observabilityEvents } from './events.ts';
import { obsMethods } from './obs.ts';

export const observability = defineContract({
  service: 'observability',
  methods: obsMethods,
  operations: {},
  events: observabilityEvents,
});
