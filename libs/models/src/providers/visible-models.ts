import { ServiceError, type AgentConfig, type AgentProjection } from '@switchyard/contracts';
import { resolveAgentModel } from './agent-model.ts';
import type { ModelRef, Models } from '../model/model.ts';

/** A name a `/v1` client may give as its model, and who answers to it. */
export interface VisibleName {
  id: string;
  ownedBy: string;
  agentId: string;
  model: ModelRef;
}

/**
 * What `/v1/models` shows and `/v1` turns accept, from one rule: agent ids, the models agents are configured
 * with, and the development models while they answer. Of several agents with one model the default agent is meant.
 */
export async function visibleNames(models: Models, agents: readonly AgentProjection[]): Promise<VisibleName[]> {
  const names = new Map<string, VisibleName>();
  const add = (name: VisibleName): void => {
    if (!names.has(name.id)) names.set(name.id, name);
  };
  const ordered = agents.toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault));
  const answering: VisibleName[] = [];
  for (const agent of ordered) {
    const model = await modelOf(models, agent);
    if (model) answering.push({ id: agent.agentId, ownedBy: 'switchyard', agentId: agent.agentId, model });
  }
  for (const name of answering) add(name);
  for (const { agentId, model } of answering) add({ id: fullName(model), ownedBy: model.provider, agentId, model });
  const standard = ordered[0];
  if (standard && (await models.providers()).includes('dev')) {
    for (const { provider, modelId } of await models.catalogue('dev')) {
      add({ id: `${provider}/${modelId}`, ownedBy: provider, agentId: standard.agentId, model: { provider, modelId } });
    }
  }
  return [...names.values()];
}

interface Index {
  models: Models;
  revision: object;
  byName: ReadonlyMap<string, VisibleName>;
}

/** One list of agents is asked for a name by every request until something changes. */
const indexes = new WeakMap<readonly AgentProjection[], Index>();

/** Whom a client means by a name: as listed, or the bare id of a listed model. */
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
  // What is listed wins over what is meant, and the first over those after it.
  return new Map([...bare.toReversed(), ...names.toReversed().map((name) => [name.id, name] as const)]);
}

function fullName(model: ModelRef): string {
  return `${model.provider}/${model.modelId}`;
}

/** The model of an agent's configuration; undefined when no provider has it now. */
async function modelOf(models: Models, agent: AgentProjection): Promise<ModelRef | undefined> {
  const { model = 'default', provider = 'default', modelRoutes = {} } = agent.config as Partial<AgentConfig>;
  try {
    return await resolveAgentModel(models, { provider, model, modelRoutes });
  } catch (error) {
    // A default that names what cannot answer hides the agents that rely on it, not all the others.
    if (error instanceof ServiceError && error.code === 'FAILED_PRECONDITION') return undefined;
    throw error;
  }
}
