import { operationModel, type Models, type OperationModel } from '@switchyard/models';
import type { Agent } from '../../agents/agent-directory.ts';
import { getAgentModel } from '../../agents/agent-model.ts';

/** The model that makes summaries for an agent: one that its context engine names, else its `flushModel`, else the one of that operation. */
export async function compactionModel(models: Models, agent: Agent): Promise<OperationModel> {
  const { compactionModel: own, summaryModel, summaryProvider } = agent.config.contextEngine;
  const ofEngine = own || (summaryProvider && summaryModel ? `${summaryProvider}/${summaryModel}` : summaryModel);
  const name = ofEngine || agent.config.session.compaction.flushModel;
  const named = name ? await models.find(name) : undefined;
  const operation = await operationModel(models, { primary: await getAgentModel(agent, models), config: agent.config }, 'compaction');
  return named ? { ...operation, model: named, source: 'config', tieringActive: false } : operation;
}
