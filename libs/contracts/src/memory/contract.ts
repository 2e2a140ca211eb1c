import { defineContract } from '../define.ts';

export const memory = defineContract({
  service: 'memory',
  methods: {},
  operations: {},
  events: {},
});
