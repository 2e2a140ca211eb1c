import { createHash } from 'node:crypto';
import { ServiceError } from '@switchyard/contracts';
import type { AgentDirectory } from '@switchyard/service-kit';
import { inserted, type Collection } from '@switchyard/store';
import type { Work } from '@switchyard/work';
import type { BeatDocument, EventDocument, WakeReason } from '../heartbeat/beat-document.ts';
import { WAKE_PRIORITY } from '../heartbeat/beat-plan.ts';
import { newBeat } from '../heartbeat/beat-sync.ts';

/** Attempts when the beat changes between the updates of a wake. */
const WAKE_ATTEMPTS = 3;

type Woken = Pick<AgentDirectory, 'all'>;

export interface WakeDeps {
  events: Collection<EventDocument>;
  beatWork: Pick<Work<BeatDocument>, 'add' | 'wake' | 'startDue'>;
  agents: Woken;
  now: () => number;
}

export interface WakeRequest {
  tenant: string;
  agentId: string;
  reason: WakeReason;
}

/** Requests a beat without waiting for it. Wakes within 250 ms, and wakes during a beat, share the next one. */
export async function wakeAgent({ beatWork, now }: Omit<WakeDeps, 'events' | 'agents'>, request: WakeRequest): Promise<void> {
  const { tenant, agentId, reason } = request;
  const wakePriority = WAKE_PRIORITY[reason];
  const set = { wakeReason: reason, wakePriority };
  const inc = { wakeCount: 1 };
  const waiting = { wakeAt: { exists: true } };
  // Each update has a guard of its own, because the beat may be created, woken or served between two of them.
  const wake = async (): Promise<BeatDocument | null> =>
    (await beatWork.wake(tenant, agentId, { set: { ...set, wakeAt: now() }, inc }, { wakeAt: null })) ??
    (await beatWork.wake(tenant, agentId, { set, inc }, { ...waiting, wakePriority: { lt: wakePriority } })) ??
    beatWork.wake(tenant, agentId, { inc }, waiting);
  for (let attempt = 0; attempt < WAKE_ATTEMPTS; attempt += 1) {
    if (await wake()) return;
    await beatWork.add({ tenant }, newBeat(agentId, now()));
  }
  throw new ServiceError('ABORTED', `The heartbeat of agent ${agentId} changed meanwhile. Retry in a moment.`);
}

export interface EventRequest {
  tenant: string;
  agentId: string;
  /** The same key is stored once. */
  key: string;
  source: string;
  text: string;
}

/** Stores an event for the next heartbeat of an agent. Returns whether it is new. */
export function addEvent({ events, now }: Pick<WakeDeps, 'events' | 'now'>, { tenant, agentId, key, source, text }: EventRequest) {
  const eventId = createHash('sha256').update(`${agentId} ${key}`).digest('base64url');
  return inserted(() => events.for({ tenant }).insert({ eventId, agentId, source, text, receivedAt: now(), unread: true }));
}
