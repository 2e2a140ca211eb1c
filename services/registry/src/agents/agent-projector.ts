import { AGENTS_BUCKET, AgentProjection, bucketKey, bucketKeyParts } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { syncBucketEntry } from '@switchyard/service-kit';
import type { Agent, Agents } from './agents.ts';

/** Keeps the KV bucket `agents`, which every service watches, equal to the effective agents. */
export interface Projector {
  /** Projects one agent after a change. */
  refresh(tenant: string, agentId: string): Promise<void>;
  /** Projects all agents: at startup and after a change of the configuration. */
  rebuild(): Promise<void>;
}

export async function openProjector(bus: Bus, agents: Agents): Promise<Projector> {
  const bucket = await bus.kv(AGENTS_BUCKET);

  async function refresh(tenant: string, agentId: string): Promise<void> {
    await syncBucketEntry(bucket, bucketKey(tenant, agentId), async () => {
      const agent = await agents.find(tenant, agentId);
      return agent && toProjection(agent);
    });
  }

  async function rebuild(): Promise<void> {
    const allAgents = await agents.all();
    const projection = new Set(allAgents.map(({ tenant, agentId }) => bucketKey(tenant, agentId)));
    for (const key of projection.union(new Set(await bucket.keys()))) {
      const owner = bucketKeyParts(key);
      if (owner === undefined) await bucket.remove(key);
      else await refresh(owner.tenant, owner.id);
    }
  }

  return { rebuild, refresh };
}

function toProjection({ agentId, tenant, suspended, isDefault, written: config }: Agent): AgentProjection {
  return AgentProjection.parse({ agentId, tenant, suspended, isDefault, config });
}
