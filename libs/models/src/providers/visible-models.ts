import { ServiceError, type AgentConfig, type AgentProjection } from '@switchyard/contracts';
import { isAllowed } from '../failover/model-chain.ts';
import { resolveAgentModel } from './agent-model.ts';
import type { ModelRef, Models } from '../model/model.ts';

/** A model name for `/v1` clients, with its agent and model. */
export interface VisibleName {
  id: string;
  ownedBy: string;
  agentId: string;
  model: ModelRef;
}

/**
 * Lists the model names of `/v1/models`, which `/v1` turns accept: agent ids, models of agents, models that `providers.entries` names and an
 * agent may use, and available development models. If several agents have or may use the same model, the default agent is used.
 */
export async function visibleNames(models: Models, agents: readonly AgentProjection[]): Promise<VisibleName[]> {
  const names = new Map<string, VisibleName>();
  const add = (name: VisibleName): void => {
    if (!names.has(name.id)) names.set(name.id, name);
  };
  const ordered = agents.toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault));
  const available: VisibleName[] = [];
  for (const agent of ordered) {
    const model = await resolveModel(models, agent);
    if (model) available.push({ id: agent.agentId, ownedBy: 'switchyard', agentId: agent.agentId, model });
  }
  for (const name of available) add(name);
  for (const { agentId, model } of available) add({ id: fullName(model), ownedBy: model.provider, agentId, model });
  const providers = await models.providers();
  for (const model of (await models.catalogue()).filter(({ configured, provider }) => configured && providers.includes(provider))) {
    const agent = ordered.find(({ config }) => isAllowed(model, getAllowedModels(config)));
    const { provider, modelId } = model;
    if (agent) add({ id: fullName(model), ownedBy: provider, agentId: agent.agentId, model: { provider, modelId } });
  }
  const defaultAgent = ordered[0];
  if (defaultAgent && providers.includes('dev')) {
    for (const { provider, modelId } of await models.catalogue('dev')) {
      add({ id: `${provider}/${modelId}`, ownedBy: provider, agentId: defaultAgent.agentId, model: { provider, modelId } });
    }
  }
  return [...names.values()];
}

/** Explains why a model that `providers.entries` names is not listed; undefined for a listed or unknown name. */
export async function explainHidden(models: Models, agents: readonly AgentProjection[], name: string): Promise<string | undefined> {
  const model = (await models.catalogue()).find((one) => one.configured && (fullName(one) === name || one.modelId === name));
  if (!model) return undefined;
  if (!(await models.providers()).includes(model.provider))
    return `providers.entries.${model.provider} is not available. Set its key, see providers.entries.${model.provider}.apiKeyName`;
  const [agent] = agents.toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault));
  if (!agent || agents.some(({ config }) => isAllowed(model, getAllowedModels(config)))) return undefined;
  return `agents.${agent.agentId}.modelFailover.allowedModels does not contain ${fullName(model)}`;
}

function getAllowedModels(config: AgentProjection['config']): readonly string[] {
  return (config as Partial<AgentConfig>).modelFailover?.allowedModels ?? [];
}

interface Index {
  models: Models;
  revision: object;
  byName: ReadonlyMap<string, VisibleName>;
}

/** Indexes by agent list, because every request resolves a name. */
const indexes = new WeakMap<readonly AgentProjection[], Index>();

/** Resolves a name of a client: a listed name, or the bare id of a listed model. */
export async function findVisible(models: Models, agents: readonly AgentProjection[], name: string): Promise<VisibleName | undefined> {
  const revision = await models.revision();
  let index = indexes.get(agents);
  if (index?.models !== models || index.revision !== revision) {
    index = { models, revision, byName: byName(await visibleNames(models, agents)) };
    indexes.set(agents, index);
  }
  return index.byName.get(name);
}

function byName(names: readonly VisibleName[]): Map<string, VisibleName> {
  const bare = names.filter(({ id, model }) => id === fullName(model)).map((name) => [name.model.modelId, name] as const);
  // Listed names take precedence over bare ids, and earlier entries over later ones.
  return new Map([...bare.toReversed(), ...names.toReversed().map((name) => [name.id, name] as const)]);
}

function fullName(model: ModelRef): string {
  return `${model.provider}/${model.modelId}`;
}

/** Resolves the model of an agent; undefined if it is not available. */
async function resolveModel(models: Models, agent: AgentProjection): Promise<ModelRef | undefined> {
  const { model = 'default', provider = 'default', modelRoutes = {} } = agent.config as Partial<AgentConfig>;
  try {
    return await resolveAgentModel(models, { provider, model, modelRoutes });
  } catch (error) {
    // An unavailable default model hides only the agents that use it.
    if (error instanceof ServiceError && error.code === 'FAILED_PRECONDITION') return undefined;
    throw error;
  }
}
