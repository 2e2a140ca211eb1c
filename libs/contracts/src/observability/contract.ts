import { defineContract } from '../define.ts';

export const observability = defineContract({
  service: 'observability',
  methods: {},
  operations: {},
  events: {},
});
