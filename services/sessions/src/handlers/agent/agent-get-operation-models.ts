import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { AGENT_OPERATIONS, operationModel, type AgentOperation, type Models, type ModelRef } from '@switchyard/models';
import type { Agent, AgentDirectory } from '../../agents/agent-directory.ts';
import { compactionModel } from '../../context/compaction/compaction-model.ts';
import { getAgentModel } from '../../agents/agent-model.ts';

/** Returns the model of each operation of an agent. */
export function agentGetOperationModels(agents: AgentDirectory, models: Models): Handler<'agent.getOperationModels'> {
  return async ({ agentId }, { principal }) => {
    const agent = agents.find(principal.tenant, agentId);
    if (!agent) throw new ServiceError('NOT_FOUND', `Agent ${agentId} not found.`, { details: { agentId } });
    const primary = await getAgentModel(agent, models);
    const availableProviders = await models.providers();
    const operations = await Promise.all(
      AGENT_OPERATIONS.map((operation) => getRow({ agent, models, primary, answering: availableProviders }, operation)),
    );
    const tieringActive = operations.some((one) => one.tieringActive);
    return { agentId, primaryModel: primary.modelId, providerFamily: primary.provider, tieringActive, operations };
  };
}

interface OperationRowOptions {
  agent: Agent;
  models: Models;
  primary: ModelRef;
  /** Providers with complete configuration. */
  answering: readonly string[];
}

async function getRow({ agent, models, primary, answering }: OperationRowOptions, operationType: AgentOperation) {
  const of = { primary, config: agent.config };
  const isCompaction = operationType === 'compaction';
  const { model, ...how } = isCompaction ? await compactionModel(models, agent) : await operationModel(models, of, operationType);
  return {
    operationType,
    model: model.modelId,
    provider: model.provider,
    ...how,
    crossProvider: model.provider !== primary.provider,
    apiKeyConfigured: answering.includes(model.provider),
  };
}
