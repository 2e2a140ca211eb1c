import { defineContract } from '../define.ts';

export const tools = defineContract({
  service: 'tools',
  methods: {},
  operations: {},
  events: {},
});
