import { defineContract } from '../define.ts';

export const channels = defineContract({
  service: 'channels',
  methods: {},
  operations: {},
  events: {},
});
