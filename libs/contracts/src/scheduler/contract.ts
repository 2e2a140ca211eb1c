import { defineContract } from '../define.ts';

export const scheduler = defineContract({
  service: 'scheduler',
  methods: {},
  operations: {},
  events: {},
});
