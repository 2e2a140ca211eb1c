import type { Handler } from '@switchyard/bus';
import { readStats } from './read-stats.ts';
import type { Given } from './handler-deps.ts';

export function memoryStats(given: Given): Handler<'memory.stats'> {
  return async (_params, ctx) => readStats(given, ctx);
}
