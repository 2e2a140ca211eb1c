import { defineContract } from '../define.ts';
import { registryOperations } from './operations.ts';

export const registry = defineContract({
  service: 'registry',
  methods: {},
  operations: registryOperations,
  events: {},
});
