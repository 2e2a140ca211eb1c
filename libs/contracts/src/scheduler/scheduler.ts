import { z } from 'zod';
import { defineMethods, defineOperations } from '../definition/define.ts';
import { AgentId, Count, IdempotencyKey } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const Source = z.string().min(1).max(128).describe('free label of the trigger');

export const SchedulerWoken = z.object({ woke: z.literal(true), source: Source });

const WAKE_EVENTS = ['scheduler:heartbeat_check', 'scheduler:heartbeat_delivered', 'scheduler:heartbeat_alert'] as const;

export const schedulerMethods = defineMethods({
  'scheduler.wake': {
    summary: 'Triggers the heartbeats of all enabled agents.',
    description: 'Returns immediately; calls in quick succession are merged.',
    scope: 'rpc',
    params: z.strictObject({ source: Source.default('agent') }),
    result: SchedulerWoken,
    idempotent: true,
    emits: WAKE_EVENTS,
    examples: [
      { params: { source: 'deploy-hook' }, result: { woke: true, source: 'deploy-hook' } },
      { params: {}, result: { woke: true, source: 'agent' } },
    ],
  },
});

export const schedulerOperations = defineOperations({
  'heartbeats.wake': {
    summary: 'Stores an event for the next heartbeat of an agent, or of all enabled agents. The same key is stored once.',
    callers: ['gateway'],
    params: z.strictObject({
      agentId: AgentId.optional().describe('default: all agents with a heartbeat'),
      source: Source,
      text: boundedString(MAX.text).describe('untrusted; empty for none'),
      mode: z.enum(['now', 'next-heartbeat']).describe('next-heartbeat: the event waits for the next scheduled heartbeat'),
      idempotencyKey: IdempotencyKey,
    }),
    result: z.object({ agents: Count.describe('agents that read the event'), repeated: z.boolean() }),
    blobs: ['text'],
    emits: WAKE_EVENTS,
    idempotent: true,
  },
});
