import type { Handler } from '@switchyard/bus';
import type { AgentDirectory } from '../agents/agent-directory.ts';
import { BUDGET_EXCEEDED, type Budgets } from '../budgets/budgets.ts';
import { resolveDefaultAgent } from '../agents/agent-resolution.ts';
import { ServiceError } from '@switchyard/contracts';

/**
 * Counts model use outside turns. Expected use is counted as used before the call. A process that crashes before the call leaves that
 * amount counted. With `late` the call reports use that has already happened.
 */
export function budgetsSpend({ agents, budgets }: { agents: AgentDirectory; budgets: Budgets }): Handler<'budgets.spend'> {
  return async ({ agentId, provider, modelId, tokens, costUsd, late = false }, { principal }) => {
    const { tenant } = principal;
    const named = agentId === undefined ? undefined : agents.find(tenant, agentId);
    const agent = named ?? agents.find(tenant, resolveDefaultAgent(agents, principal)) ?? agents.default(tenant);
    const call = { model: { provider, modelId }, messages: [], inputTokens: late ? 1 : tokens, maxOutputTokens: 0 };
    try {
      const reserved = await budgets.of(principal, agent).reserve(call);
      const used = { tokens, costUsd: costUsd ?? reserved.expected.costUsd };
      reserved.settle(used);
      return used;
    } catch (error) {
      // An exhausted budget rejects the next call, not a late report.
      if (late && error instanceof ServiceError && error.details.reason === BUDGET_EXCEEDED) return { tokens: 0, costUsd: 0 };
      throw error;
    }
  };
}
