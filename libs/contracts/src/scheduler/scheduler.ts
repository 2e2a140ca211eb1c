import { z } from 'zod';
import { defineMethods } from '../define.ts';

const Source = z.string().min(1).max(128).describe('a free label of who woke them');

export const SchedulerWoken = z.object({ woke: z.literal(true), source: Source });

export const schedulerMethods = defineMethods({
  'scheduler.wake': {
    summary: 'Makes the hearts of all enabled agents beat soon.',
    description: 'Answers at once; calls that come close together are one.',
    scope: 'rpc',
    params: z.strictObject({ source: Source.default('agent') }),
    result: SchedulerWoken,
    idempotent: true,
    emits: ['scheduler:heartbeat_check', 'scheduler:heartbeat_delivered', 'scheduler:heartbeat_alert'],
    examples: [
      { params: { source: 'deploy-hook' }, result: { woke: true, source: 'deploy-hook' } },
      { params: {}, result: { woke: true, source: 'agent' } },
    ],
  },
});
