import { isDeepStrictEqual } from 'node:util';
import { AGENTS_BUCKET, AgentProjection, bucketKey, bucketKeyParts } from '@switchyard/contracts';
import type { Bucket, BucketEntry, Bus } from '@switchyard/bus';
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

  async function rebuild(): Promise<void> {
    const allAgents = await agents.all();
    const projection = new Set(allAgents.map(({ tenant, agentId }) => bucketKey(tenant, agentId)));
    for (const key of projection.union(new Set(await bucket.keys()))) {
      const owner = bucketKeyParts(key);
      await syncEntry(bucket, key, async () => (owner === undefined ? undefined : agents.find(owner.tenant, owner.id)));
    }
  }

  return { rebuild, refresh: (tenant, agentId) => syncEntry(bucket, bucketKey(tenant, agentId), () => agents.find(tenant, agentId)) };
}

/** Reads the entry, then the agent, then writes over exactly that entry. If two replicas compete, the later read wins. */
async function syncEntry(bucket: Bucket, key: string, readAgent: () => Promise<Agent | undefined>): Promise<void> {
  for (;;) {
    const entry = await bucket.get(key);
    const agent = await readAgent();
    const projection = agent === undefined ? undefined : toProjection(agent);
    if (isDeepStrictEqual(parseEntry(entry), projection)) return;
    // Removals and first writes have no revision check, so the loop verifies the result.
    if (projection === undefined) await bucket.remove(key);
    else await bucket.update(key, Buffer.from(JSON.stringify(projection)), entry?.revision ?? 0);
  }
}

function toProjection({ agentId, tenant, suspended, isDefault, written: config }: Agent): AgentProjection {
  // The JSON round trip drops undefined keys, so that the result can be compared with an entry.
  return AgentProjection.parse(JSON.parse(JSON.stringify({ agentId, tenant, suspended, isDefault, config })));
}

/** Null for an unreadable entry, which is then overwritten. */
function parseEntry(entry: BucketEntry | undefined): AgentProjection | null | undefined {
  if (entry?.value === undefined) return undefined;
  try {
    return AgentProjection.parse(JSON.parse(Buffer.from(entry.value).toString()));
  } catch {
    return null;
  }
}
