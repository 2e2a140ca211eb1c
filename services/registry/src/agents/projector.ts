import { isDeepStrictEqual } from 'node:util';
import { AGENTS_BUCKET, AgentProjection } from '@switchyard/contracts';
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
    const wanted = new Map(agentsNow.map((agent) => [keyOf(agent.tenant, agent.agentId), agent]));
    for (const key of new Set([...wanted.keys(), ...(await bucket.keys())])) {
      const { tenant, agentId } = wanted.get(key) ?? ownerOf(key);
      await settle(bucket, key, () => agents.find(tenant, agentId));
    }
  }

  return { rebuild, refresh: (tenant, agentId) => settle(bucket, keyOf(tenant, agentId), () => agents.find(tenant, agentId)) };
}

/** The truth is read after the entry and written over that very entry, so that of two replicas the later truth stays. */
async function settle(bucket: Bucket, key: string, truth: () => Promise<Agent | undefined>): Promise<void> {
  for (;;) {
    const entry = await bucket.get(key);
    const agent = await truth();
    const wanted = agent === undefined ? undefined : toProjection(agent);
    if (isDeepStrictEqual(read(entry), wanted)) return;
    // A removal guards nothing, nor does the first write of a key: what became of it is looked at once more.
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

function keyOf(tenant: string, agentId: string): string {
  return `${tenant}.${agentId}`;
}

/** Agent ids have no dot in them, tenants may. */
function ownerOf(key: string): { tenant: string; agentId: string } {
  const at = key.lastIndexOf('.');
  return { tenant: key.slice(0, Math.max(0, at)), agentId: key.slice(at + 1) };
}
