import { defineContract } from '../definition/define.ts';
import { systemMethods } from './system.ts';

export const gateway = defineContract({
  service: 'gateway',
  methods: systemMethods,
  operations: {},
  events: {},
});
