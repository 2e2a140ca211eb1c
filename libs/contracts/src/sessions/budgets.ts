import { z } from 'zod';
import { AgentId, Count } from '../common.ts';
import { defineOperations } from '../define.ts';
import { MAX, upTo } from '../sizes.ts';

const used = z.object({ tokens: Count, costUsd: z.number().nonnegative() });

/** What models are asked for that is no turn counts in the same budgets. */
export const budgetOperations = defineOperations({
  'budgets.spend': {
    summary:
      'Counts what a model is about to read, in the budgets of the agent and of the token that asks. RESOURCE_EXHAUSTED, reason BUDGET_EXCEEDED, where nothing is left.',
    callers: ['registry'] as const,
    params: z.strictObject({
      agentId: AgentId.optional().describe('the one that answers for the caller, when left out'),
      provider: upTo(MAX.name),
      modelId: upTo(MAX.name),
      tokens: Count,
      costUsd: z.number().nonnegative().optional().describe('by list price, when left out'),
      late: z.boolean().optional().describe('it was used already, beyond what was counted before: it is refused no more'),
    }),
    result: used.describe('what was counted'),
  },
});
