import { operationModel, type Models, type OperationModel } from '@switchyard/models';
import type { Agent } from '../../agents/agent-directory.ts';
import { getAgentModel } from '../../agents/agent-model.ts';

/**
 * Returns the summarizer model of an agent: the model of its context engine, otherwise `flushModel`, otherwise the model of the
 * compaction operation.
 */
export async function compactionModel(models: Models, agent: Agent): Promise<OperationModel> {
  const { compactionModel: own, summaryModel, summaryProvider } = agent.config.contextEngine;
  const ofEngine = own || (summaryProvider && summaryModel ? `${summaryProvider}/${summaryModel}` : summaryModel);
  const name = ofEngine || agent.config.session.compaction.flushModel;
  const named = name ? await models.find(name) : undefined;
  const operation = await operationModel(models, { primary: await getAgentModel(agent, models), config: agent.config }, 'compaction');
  return named ? { ...operation, model: named, source: 'config', tieringActive: false } : operation;
}
