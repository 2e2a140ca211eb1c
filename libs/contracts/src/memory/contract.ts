import { defineContract } from '../definition/define.ts';
import { memoryEvents } from './events.ts';
import { memoryMethods } from './memory.ts';
import { memoryOperations } from './operations.ts';

export const memory = defineContract({
  service: 'memory',
  methods: { ...memoryMethods },
  operations: memoryOperations,
  events: memoryEvents,
});
