import { defineContract } from '../define.ts';

export const gateway = defineContract({
  service: 'gateway',
  methods: {},
  operations: {},
  events: {},
});
