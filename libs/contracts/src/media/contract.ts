import { defineContract } from '../define.ts';

export const media = defineContract({
  service: 'media',
  methods: {},
  operations: {},
  events: {},
});
