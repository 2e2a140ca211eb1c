import { defineContract } from '../define.ts';

export const workspace = defineContract({
  service: 'workspace',
  methods: {},
  operations: {},
  events: {},
});
