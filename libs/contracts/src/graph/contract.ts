import { defineContract } from '../define.ts';

export const graph = defineContract({
  service: 'graph',
  methods: {},
  operations: {},
  events: {},
});
