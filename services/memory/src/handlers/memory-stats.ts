import type { Handler } from '@switchyard/bus';
import { readStats } from './read-stats.ts';
import type { HandlerDeps } from './handler-deps.ts';

export function memoryStats(deps: HandlerDeps): Handler<'memory.stats'> {
  return async (_params, ctx) => readStats(deps, ctx);
}
