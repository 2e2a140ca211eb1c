import { z } from 'zod';
import { LogLevel } from '../config/kinds.ts';
import { defineMethods } from '../define.ts';
import { LogModule } from '../log-module.ts';

export const daemonMethods = defineMethods({
  'daemon.setLogLevel': {
    summary: 'Sets how much is logged, everywhere or in one module, until the next start.',
    description:
      'At once, in every process. What is set for a service holds for its parts too, unless they have a level of their own. What is set ' +
      'everywhere takes back what was set for modules, and is taken back by a change of logLevel.',
    scope: 'admin',
    audited: 'mutate',
    params: z.strictObject({
      level: LogLevel,
      module: LogModule.optional().describe('a service, or a part that several have; all of them when left out'),
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
