import { subjects } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { SessionDocument } from '../../model/session-document.ts';
import type { TurnDocument } from '../../model/turn-document.ts';
import { expireTexts, hasBodies } from '../../model/stored-text.ts';
import type { BodyDocument } from '../../model/text-document.ts';
import { formatEntry } from '../../model/queue-entry.ts';
import { removeEnded } from '../../queue/queue-removal.ts';
import { createFrameWriter, FINAL_FRAME } from '../../frames/frame-publisher.ts';
import type { FrameLogQuota } from '../../frames/frame-log-quota.ts';
import { wakeOrigin } from '../store/turn-ended-event.ts';
import type { RunningTurns } from './running-turns.ts';
import type { TurnWaiters } from './turn-waiters.ts';

export interface EndNotificationDeps {
  sessions: Collection<SessionDocument>;
  bodies: Collection<BodyDocument>;
  clock: Clock;
  bus: Bus;
  waiting: TurnWaiters;
  shares: FrameLogQuota;
  runs: RunningTurns;
  /** Called when the entry is the head of a queue without a lease holder. */
  onRunnable: (tenant: string, entry: string) => void;
}

/**
 * Publishes the end of a turn that was ended by another process than its runner, and removes its queue entry. After a crash the runner, or
 * the next lease holder, does the same.
 */
export async function notifyEnd(deps: EndNotificationDeps, tenant: string, turn: TurnDocument): Promise<void> {
  const { turnId, sessionKey: key, failure, lastFrame = FINAL_FRAME, forgetAt } = turn;
  deps.runs.stop(turnId);
  wakeOrigin(deps.bus, turn);
  deps.bus.publish(subjects.turnEnded, Buffer.from(JSON.stringify(turnId)));
  if (failure) {
    const frames = createFrameWriter(deps, { tenant, turnId, from: lastFrame });
    frames.end({ type: 'error', error: failure });
    frames.close();
    deps.waiting.notify(tenant, turnId, { failure });
  }
  const next = (await removeEnded(deps.sessions.for({ tenant }), tenant, { key, entry: formatEntry(turn) }))?.queue[0];
  if (next !== undefined) deps.onRunnable(tenant, next);
  if (forgetAt !== undefined && hasBodies(turn)) await expireTexts(deps.bodies, tenant, turnId, forgetAt);
}
