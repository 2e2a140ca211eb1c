import { z } from 'zod';
import { defineEvents } from '../definition/define.ts';
import { ERROR_CODES } from '../definition/errors.ts';
import { AgentId, Count, FinishReason, SessionKey, Timestamp } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { TurnKind, TurnOrigin } from './turn-orders.ts';
import { TurnEvidence } from './evidence.ts';
import { TurnUsage } from './turn-usage.ts';
import { TurnId } from './turns.ts';

/** The record of a turn for billing and for the service that ordered it. It contains no text of the conversation. */
export const turnEndedEvents = defineEvents({
  'turn:ended': {
    summary: 'A durable turn ended, with an answer, a failure or a cancellation.',
    beyond: true,
    payload: z.object({
      turnId: TurnId,
      sessionKey: SessionKey,
      agentId: AgentId,
      client: boundedString(MAX.id),
      kind: TurnKind.optional().describe('of turns that a service ordered'),
      origin: TurnOrigin.optional(),
      state: z.enum(['done', 'failed', 'cancelled']),
      finishReason: FinishReason.optional(),
      failure: z
        .object({
          code: z.enum(ERROR_CODES),
          reason: boundedString(MAX.name).optional(),
          status: z.int().optional().describe('HTTP status of the provider'),
          rejected: z.literal('tool_schema').optional().describe('what the provider rejected'),
        })
        .optional()
        .describe('with state failed or cancelled'),
      mergedInto: TurnId.optional().describe('the turn that answered this one as well and has its usage'),
      usage: TurnUsage,
      steps: Count,
      attempts: Count.optional().describe('runs of the turn; more than one if a runner was lost'),
      evidence: TurnEvidence.optional().describe('of turns that a model answered'),
      createdAt: Timestamp,
      startedAt: Timestamp.optional(),
      finishedAt: Timestamp,
    }),
    example: {
      turnId: 'turn_4fT0mUq2Zs8KxY1bNcVdGh',
      sessionKey: 'default:alice:gateway',
      agentId: 'default',
      client: 'alice',
      state: 'done',
      finishReason: 'stop',
      usage: { calls: 1, unknownCalls: 0, input: 412, output: 38, cacheRead: 0, cacheWrite: 0, costUsd: 0.0018 },
      steps: 1,
      createdAt: 1763719200000,
      startedAt: 1763719200004,
      finishedAt: 1763719201250,
    },
  },
});
