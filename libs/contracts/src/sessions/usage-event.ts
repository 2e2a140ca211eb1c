import { z } from 'zod';
import { defineEvents } from '../definition/define.ts';
import { AgentId, Timestamp } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { TurnUsage } from './turn-usage.ts';
import { TurnId } from './turns.ts';

/** The purposes of model calls outside the steps of a durable turn. */
export const UsagePurpose = z.enum(['completion', 'summary', 'recall', 'reranking']);
export type UsagePurpose = z.infer<typeof UsagePurpose>;

export const UsageOutcome = z.enum(['answered', 'failed', 'cancelled', 'timed_out']);
export type UsageOutcome = z.infer<typeof UsageOutcome>;

/** The payload of an event with the usage of provider calls that ended at about the same time, one record for each call. */
export function createUsagePayload<P extends z.ZodType<string>>(purpose: P) {
  return z.object({ records: z.array(createUsageRecord(purpose)).min(1).max(MAX.few) });
}

function createUsageRecord<P extends z.ZodType<string>>(purpose: P) {
  return z.object({
    id: boundedString(MAX.id).describe('the same if the event is published twice'),
    purpose,
    agentId: AgentId,
    client: boundedString(MAX.id).optional().describe('absent for work that no client requested'),
    model: boundedString(MAX.name).describe('provider/model that was requested'),
    turnId: TurnId.optional(),
    outcome: UsageOutcome,
    usage: TurnUsage,
    finishedAt: Timestamp,
  });
}

/** The usage of model calls that no `turn:ended` contains, for billing. */
export const usageEvents = defineEvents({
  'usage:recorded': {
    summary: 'Models were called outside durable turns: for /v1, summaries, recalls or rerankings.',
    beyond: true,
    payload: createUsagePayload(UsagePurpose),
    example: {
      records: [
        {
          id: 'spent_4fT0mUq2Zs8KxY1bNcVdGh',
          purpose: 'completion',
          agentId: 'default',
          client: 'alice',
          model: 'openai/gpt-5.4',
          turnId: 'turn_4fT0mUq2Zs8KxY1bNcVdGh',
          outcome: 'answered',
          usage: { calls: 1, unknownCalls: 0, input: 412, output: 38, cacheRead: 0, cacheWrite: 0, costUsd: 0.0018 },
          finishedAt: 1763719201250,
        },
      ],
    },
  },
});
