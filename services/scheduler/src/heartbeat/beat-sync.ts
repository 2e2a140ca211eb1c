import type { Sections } from '@switchyard/contracts';
import type { AgentDirectory } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import { newWork, type Work } from '@switchyard/work';
import type { BeatDocument } from './beat-document.ts';
import { getIntervalMs } from './heartbeat-settings.ts';

export interface BeatSyncDeps {
  beats: Collection<BeatDocument>;
  beatWork: Pick<Work<BeatDocument>, 'add' | 'wake' | 'startDue'>;
  agents: Pick<AgentDirectory, 'listAllTenants'>;
  now: () => number;
  settings: () => Sections['scheduler'];
}

/** Creates the heartbeat of an agent. The first beat is one interval after the creation of the agent. */
export function newBeat(agentId: string, createdAt: number): BeatDocument {
  const counters = { plannedIntervalMs: 0, wakeCount: 0, wakesServed: 0, wakePriority: 0, consecutiveErrors: 0 };
  return { ...newWork(), ...counters, agentId, createdAt, beatUntil: createdAt };
}

/** Adds the beats of new agents, and makes those compute their next beat again whose interval has changed. */
export async function syncBeats({ beats, beatWork, agents, now, settings }: BeatSyncDeps): Promise<void> {
  const planned = await readPlans(beats);
  for (const agent of agents.listAllTenants()) {
    const { tenant, agentId } = agent;
    const intervalMs = planned.get(`${tenant} ${agentId}`);
    if (intervalMs === undefined) await beatWork.add({ tenant }, newBeat(agentId, now()));
    else if (intervalMs !== getIntervalMs(agent, settings().heartbeat)) await beatWork.wake(tenant, agentId);
  }
  beatWork.startDue();
}

/** Returns the planned interval of each beat by tenant and agent. */
async function readPlans(beats: Collection<BeatDocument>): Promise<Map<string, number>> {
  const plans = new Map<string, number>();
  let cursor: string | undefined;
  do {
    const page = await beats.system().find({}, { limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    for (const { tenant, agentId, plannedIntervalMs } of page.items) plans.set(`${tenant} ${agentId}`, plannedIntervalMs);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return plans;
}
