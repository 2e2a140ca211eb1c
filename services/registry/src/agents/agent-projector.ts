import { isDeepStrictEqual } from 'node:util';
import { AGENTS_BUCKET, AgentProjection, bucketKey, bucketKeyParts } from '@switchyard/contracts';
import type { Bucket, BucketEntry, Bus } from '@switchyard/bus';
import type { Agent, Agents } from './agents.ts';

/** Keeps the bucket that every service watches equal to the agents in force. */
export interface Projector {
  /** One agent, after its change; resolves when the bucket says what is true. */
  refresh(tenant: string, agentId: string): Promise<void>;
  /** All of them: at start, and when the configuration changed. */
  rebuild(): Promise<void>;
}

export async function openProjector(bus: Bus, agents: Agents): Promise<Projector> {
  const bucket = await bus.kv(AGENTS_BUCKET);

  async function rebuild(): Promise<void> {
    const agentsNow = await agents.all();
    const wanted = new Set(agentsNow.map(({ tenant, agentId }) => bucketKey(tenant, agentId)));
    for (const key of wanted.union(new Set(await bucket.keys()))) {
      const owner = bucketKeyParts(key);
      await settle(bucket, key, async () => (owner === undefined ? undefined : agents.find(owner.tenant, owner.id)));
    }
  }

  return { rebuild, refresh: (tenant, agentId) => settle(bucket, bucketKey(tenant, agentId), () => agents.find(tenant, agentId)) };
}

/** Reads the entry, then the truth, then writes over exactly that entry: of two replicas the one that read the truth later wins. */
async function settle(bucket: Bucket, key: string, truth: () => Promise<Agent | undefined>): Promise<void> {
  for (;;) {
    const entry = await bucket.get(key);
    const agent = await truth();
    const wanted = agent === undefined ? undefined : toProjection(agent);
    if (isDeepStrictEqual(read(entry), wanted)) return;
    // A removal and the first write of a key are not guarded by a revision, so the loop reads the result again.
    if (wanted === undefined) await bucket.remove(key);
    else await bucket.update(key, Buffer.from(JSON.stringify(wanted)), entry?.revision ?? 0);
  }
}

function toProjection({ agentId, tenant, suspended, isDefault, written: config }: Agent): AgentProjection {
  // As it will be read: without the keys that are undefined.
  return AgentProjection.parse(JSON.parse(JSON.stringify({ agentId, tenant, suspended, isDefault, config })));
}

/** What cannot be read is written anew. */
function read(entry: BucketEntry | undefined): AgentProjection | null | undefined {
  if (entry?.value === undefined) return undefined;
  try {
    return AgentProjection.parse(JSON.parse(Buffer.from(entry.value).toString()));
  } catch {
    return null;
  }
}
