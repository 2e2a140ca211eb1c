import { z } from 'zod';
import { LogLevel } from '../config/kinds.ts';
import { defineMethods } from '../define.ts';

export const daemonMethods = defineMethods({
  'daemon.setLogLevel': {
    summary: 'Sets how much is logged, everywhere or in one module, until the next start.',
    scope: 'admin',
    params: z.strictObject({
      level: LogLevel,
      module: z.string().min(1).max(128).optional().describe('one logging module; all of them when left out'),
    }),
    result: z.object({
      updated: z.literal(true),
      level: LogLevel,
      scope: z.enum(['module', 'global']).optional(),
      persistent: z.literal(false).optional(),
    }),
    idempotent: true,
    emits: ['audit:event'],
    examples: [
      { params: { level: 'debug', module: 'sessions' }, result: { updated: true, level: 'debug', scope: 'module', persistent: false } },
    ],
  },
});
