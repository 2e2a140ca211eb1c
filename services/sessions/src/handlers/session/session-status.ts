import type { Principal } from '@switchyard/contracts';
import type { Handler } from '@switchyard/bus';
import type { Models } from '@switchyard/models';
import type { Agent, AgentDirectory } from '../../agents/agent-directory.ts';
import { resolveDefaultAgent } from '../../agents/agent-resolution.ts';
import { findCallerSession } from '../../sessions/session-directory.ts';
import { waitUntilSettled, type SettlingDeps } from '../../sessions/session-settling.ts';
import { getAgentModel } from '../../agents/agent-model.ts';

/**
 * Returns the model of the calling agent and the usage of its session. A client gets its own newest session, or the default agent if it
 * has none.
 */
export function sessionStatus(settling: SettlingDeps, agents: AgentDirectory, models: Models): Handler<'session.status'> {
  return async (_, { principal }) => {
    const seen = await findCallerSession(settling.sessions, principal);
    const session = seen && (await waitUntilSettled(settling, principal.tenant, seen));
    const inTurn = principal.session !== undefined;
    const agentId = (inTurn ? principal.agent : undefined) ?? session?.agentId ?? principal.agent;
    const agent = (agentId === undefined ? undefined : agents.find(principal.tenant, agentId)) ?? resolveAgent(agents, principal);
    const model = await getAgentModel(agent, models);
    return {
      model: `${model.provider}/${model.modelId}`,
      agentName: agent.config.name,
      tokensUsed: { totalTokens: (session?.inputTokens ?? 0) + (session?.outputTokens ?? 0), totalCost: session?.costUsd ?? 0 },
      stepsExecuted: session?.lastSteps ?? 0,
      maxSteps: agent.config.maxSteps,
    };
  };
}

/** The agent that is shown without a session. */
function resolveAgent(agents: AgentDirectory, principal: Principal): Agent {
  return agents.find(principal.tenant, resolveDefaultAgent(agents, principal)) ?? agents.default(principal.tenant);
}
