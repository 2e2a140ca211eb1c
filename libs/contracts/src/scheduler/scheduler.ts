import { z } from 'zod';
import { defineMethods } from '../definition/define.ts';

const Source = z.string().min(1).max(128).describe('free label of the trigger');

export const SchedulerWoken = z.object({ woke: z.literal(true), source: Source });

export const schedulerMethods = defineMethods({
  'scheduler.wake': {
    summary: 'Triggers the heartbeats of all enabled agents.',
    description: 'Returns immediately; calls in quick succession are merged.',
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
