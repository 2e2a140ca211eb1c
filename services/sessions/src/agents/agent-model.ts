import { ServiceError } from '@switchyard/contracts';
import { requireAllowed, resolveAgentModel, type ModelRef, type Models } from '@switchyard/models';
import type { Agent } from './agent-directory.ts';

/** Returns the agent's model, otherwise the default model. */
export async function getAgentModel(agent: Agent, models: Models): Promise<ModelRef> {
  const { model, provider, modelRoutes } = agent.config;
  const found = await resolveAgentModel(models, { provider, model, modelRoutes });
  if (found) return found;
  const routed = model === 'default' ? (modelRoutes.default ?? model) : model;
  const name = provider === 'default' ? routed : `${provider}/${model}`;
  throw new ServiceError('FAILED_PRECONDITION', `Agent ${agent.agentId} uses model ${name}, which no configured provider offers.`, {
    details: { reason: 'MODEL_NOT_FOUND' },
  });
}

/** Returns the model named by a turn, which the agent must allow; otherwise the agent's model. */
export async function getTurnModel(agent: Agent, models: Models, name: string | undefined): Promise<ModelRef> {
  if (name === undefined) return getAgentModel(agent, models);
  const found = await models.find(name);
  if (!found) {
    throw new ServiceError(
      'FAILED_PRECONDITION',
      `A turn of agent ${agent.agentId} requests model ${name}, which no configured provider offers.`,
      {
        details: { reason: 'MODEL_NOT_FOUND' },
      },
    );
  }
  requireAllowed(agent, found);
  return found;
}

/** Same as `getTurnModel`. Returns undefined while a service that knows the models is away, because the turn can wait for it. */
export async function findTurnModel(agent: Agent, models: Models, name: string | undefined): Promise<ModelRef | undefined> {
  try {
    return await getTurnModel(agent, models, name);
  } catch (error) {
    if (error instanceof ServiceError && (error.code === 'UNAVAILABLE' || error.code === 'DEADLINE_EXCEEDED')) return undefined;
    throw error;
  }
}
