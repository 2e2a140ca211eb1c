import { defineContract } from '../define.ts';
import { memoryMethods } from './memory.ts';

export const memory = defineContract({
  service: 'memory',
  methods: { ...memoryMethods },
  operations: {},
  events: {},
});
