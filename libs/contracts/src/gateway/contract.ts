import { defineContract } from '../define.ts';
import { systemMethods } from './system.ts';

export const gateway = defineContract({
  service: 'gateway',
  methods: systemMethods,
  operations: {},
  events: {},
});
