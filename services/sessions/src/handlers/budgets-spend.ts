import type { Handler } from '@switchyard/bus';
import type { AgentDirectory } from '../agents/agent-directory.ts';
import { BUDGET_EXCEEDED, type Budgets } from '../budgets/budgets.ts';
import { standardAgent } from '../agents/agent-resolution.ts';
import { ServiceError } from '@switchyard/contracts';

/**
 * Counts what is used of a model outside of turns. What is about to be used is counted at once, as used: whoever dies before it asks
 * the model has lost that much. What it was beyond that is told afterwards.
 */
export function budgetsSpend({ agents, budgets }: { agents: AgentDirectory; budgets: Budgets }): Handler<'budgets.spend'> {
  return async ({ agentId, provider, modelId, tokens, costUsd, late = false }, { principal }) => {
    const { tenant } = principal;
    const named = agentId === undefined ? undefined : agents.find(tenant, agentId);
    const agent = named ?? agents.find(tenant, standardAgent(agents, principal)) ?? agents.default(tenant);
    const call = { model: { provider, modelId }, messages: [], inputTokens: late ? 1 : tokens, maxOutputTokens: 0 };
    try {
      const reserved = await budgets.of(principal, agent).reserve(call);
      const used = { tokens, costUsd: costUsd ?? reserved.expected.costUsd };
      reserved.settle(used);
      return used;
    } catch (error) {
      // Whose budget is used up is refused the next time.
      if (late && error instanceof ServiceError && error.details.reason === BUDGET_EXCEEDED) return { tokens: 0, costUsd: 0 };
      throw error;
    }
  };
}
