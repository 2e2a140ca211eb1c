import { defineContract } from '../define.ts';

export const browser = defineContract({
  service: 'browser',
  methods: {},
  operations: {},
  events: {},
});
