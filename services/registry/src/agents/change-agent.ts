import { ServiceError } from '@switchyard/contracts';
import { inserted, type Collection, type OutboxEvent, type Store } from '@switchyard/store';
import type { AgentDocument } from '../documents/collections.ts';
import type { Agent, Agents } from './agents.ts';
import { agentNotFound } from './agent-not-found.ts';
import type { Projector } from './agent-projector.ts';

const MAX_ATTEMPTS = 5;

/** The fields that a change sets on the stored document. */
export type AgentChange = Partial<Pick<AgentDocument, 'patch' | 'suspended' | 'deletedAt'>> & { emit?: readonly OutboxEvent[] };

export interface ChangeAgentDeps {
  agents: Agents;
  collection: Collection<AgentDocument>;
  store: Pick<Store, 'now'>;
  projector: Projector;
}

/**
 * Changes an existing agent and projects it. `decide` gets the current agent and may throw to reject the change. If another write was
 * faster, `decide` runs again on the new state.
 */
export async function changeAgent(
  deps: ChangeAgentDeps,
  { tenant, agentId }: { tenant: string; agentId: string },
  decide: (agent: Agent) => Promise<AgentChange> | AgentChange,
): Promise<Agent> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const agent = await deps.agents.find(tenant, agentId);
    if (agent === undefined) throw agentNotFound(agentId);
    const { emit = [], ...set } = await decide(agent);
    if (!(await writeAgent(deps, agent, { set, emit }))) continue;
    await deps.projector.refresh(tenant, agentId);
    return (await deps.agents.find(tenant, agentId)) ?? agent;
  }
  throw new ServiceError('ABORTED', `The agent ${agentId} is being changed by other callers. Try again.`);
}

interface WriteAgentOptions {
  set: Omit<AgentChange, 'emit'>;
  emit: readonly OutboxEvent[];
}

/** Returns false if another write was faster. */
async function writeAgent(
  { collection, store }: ChangeAgentDeps,
  { tenant, agentId, stored }: Agent,
  { set, emit }: WriteAgentOptions,
): Promise<boolean> {
  const documents = collection.for({ tenant });
  const updatedAt = store.now();
  if (stored !== undefined) {
    const changed = await documents.update({ agentId, version: stored.version }, { set: { ...set, updatedAt }, inc: { version: 1 }, emit });
    return changed !== null;
  }
  const empty = { agentId, patch: {}, suspended: false, deletedAt: null, createdAt: updatedAt, updatedAt, version: 1 };
  return inserted(() => documents.insert({ ...empty, ...set }, { emit }));
}
