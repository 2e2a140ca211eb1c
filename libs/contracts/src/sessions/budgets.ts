import { z } from 'zod';
import { AgentId, Count } from '../values/common.ts';
import { defineOperations } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const used = z.object({ tokens: Count, costUsd: z.number().nonnegative() });

/** Model calls outside of turns count in the same budgets. */
export const budgetOperations = defineOperations({
  'budgets.spend': {
    summary:
      'Counts tokens of a model call in the budgets of the agent and the calling token. Fails RESOURCE_EXHAUSTED, reason BUDGET_EXCEEDED, if a budget is used up.',
    callers: ['registry'] as const,
    params: z.strictObject({
      agentId: AgentId.optional().describe('default: the caller’s agent'),
      provider: boundedString(MAX.name),
      modelId: boundedString(MAX.name),
      tokens: Count,
      costUsd: z.number().nonnegative().optional().describe('default: list price'),
      late: z.boolean().optional().describe('already used beyond the counted amount; never rejected'),
    }),
    result: used.describe('counted amount'),
  },
});
