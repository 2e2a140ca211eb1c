import { z } from 'zod';
import { LogLevel } from '../config/kinds.ts';
import { defineMethods } from '../definition/define.ts';
import { LogModule } from '../definition/log-module.ts';

export const daemonMethods = defineMethods({
  'daemon.setLogLevel': {
    summary: 'Sets the log level of one module or all until the next start.',
    description:
      'Takes effect immediately in every process. The level of a service also applies to its modules without a separate level. A level ' +
      'for all modules replaces the levels of single modules. A change of logLevel replaces both.',
    scope: 'admin',
    audited: 'mutate',
    params: z.strictObject({
      level: LogLevel,
      module: LogModule.optional().describe('a service or a shared module; default: all'),
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
