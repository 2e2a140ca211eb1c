import { defineContract } from '../define.ts';
import { turnOperations } from './turns.ts';

export const sessions = defineContract({
  service: 'sessions',
  methods: {},
  operations: turnOperations,
  events: {},
});
