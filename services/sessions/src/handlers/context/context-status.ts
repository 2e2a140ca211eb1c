import type { Handler } from '@switchyard/bus';
import type { AgentConfig } from '@switchyard/contracts';
import type { Models } from '@switchyard/models';
import type { Collection, Filter } from '@switchyard/store';
import type { Agent, AgentDirectory } from '../../agents/agent-directory.ts';
import { getAgentModel } from '../../agents/agent-model.ts';
import { CONTEXT_LAYERS, type ContextLayerName } from '../../context/context-layers.ts';
import { applyCap, computeBudgets, getModelWindow } from '../../context-window/context-window.ts';
import type { SummaryDocument } from '../../model/summary-document.ts';

export interface ContextStatusDeps {
  agents: AgentDirectory;
  models: Models;
  summaries: Collection<SummaryDocument>;
}

const NO_BUDGETS = { windowTokens: 0, outputReserve: 0, safetyMargin: 0 };

/** Returns zeros and no layers for an unknown agent. */
export function contextStatus({ agents, models, summaries }: ContextStatusDeps): Handler<'context.status'> {
  return async ({ agentId }, { principal }) => {
    const agent = agentId === undefined ? agents.default(principal.tenant) : agents.find(principal.tenant, agentId);
    const documents = summaries.for(principal);
    const all: Filter<SummaryDocument> = agentId === undefined ? {} : { agentId };
    const [leaf, condensed, deepest, budgets] = await Promise.all([
      documents.count({ ...all, depth: 0 }),
      documents.count({ ...all, depth: { gt: 0 } }),
      documents.find({ ...all, depth: { gte: 0 } }, { sort: [['depth', 'desc']], limit: 1 }),
      agent ? readBudgets(models, agent) : NO_BUDGETS,
    ]);
    const layers = agent ? CONTEXT_LAYERS.map((name) => ({ name, enabled: isEnabled(name, agent.config) })) : [];
    return { layers, budgets, nodeCounts: { leaf, condensed }, maxDepth: deepest.items[0]?.depth ?? 0 };
  };
}

function isEnabled(name: ContextLayerName, { contextEngine, contextGuard, contextPruning, session }: AgentConfig): boolean {
  const enabled: Record<ContextLayerName, boolean> = {
    'history-window': true,
    summaries: contextEngine.enabled,
    'result-eviction': contextEngine.enabled,
    'result-masking': contextEngine.enabled,
    'result-pruning': session.pruning.enabled || contextPruning.enabled,
    'window-guard': contextGuard.enabled,
  };
  return enabled[name];
}

/** The model of an agent may be unknown, for example without a key of its provider. */
async function readBudgets(models: Models, agent: Agent): Promise<typeof NO_BUDGETS> {
  const model = await getAgentModel(agent, models).catch(() => undefined);
  const window = model && applyCap(await getModelWindow(models, model), agent);
  return window ? computeBudgets(window, agent) : NO_BUDGETS;
}
