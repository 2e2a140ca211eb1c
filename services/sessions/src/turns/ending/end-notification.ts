import { subjects } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { SessionDocument } from '../../model/session-document.ts';
import type { TurnDocument } from '../../model/turn-document.ts';
import { forget, hasBodies } from '../../model/stored-text.ts';
import type { BodyDocument } from '../../model/text-document.ts';
import { toEntry } from '../../model/queue-entry.ts';
import { withdraw } from '../../queue/queue-removal.ts';
import { createFrameWriter, FRAME_AFTER_ALL } from '../../frames/frame-publisher.ts';
import type { LogShares } from '../../frames/frame-log-quota.ts';
import type { Runs } from './running-turns.ts';
import type { Waiting } from './turn-waiters.ts';

export interface MakingKnown {
  sessions: Collection<SessionDocument>;
  bodies: Collection<BodyDocument>;
  clock: Clock;
  bus: Bus;
  waiting: Waiting;
  shares: LogShares;
  runs: Runs;
  /** Called when the entry is the head of a queue without a lease holder. */
  waits: (tenant: string, entry: string) => void;
}

/**
 * Publishes the end of a turn that was ended by another process than its runner, and removes its queue entry. After a crash the runner, or
 * the next lease holder, does the same.
 */
export async function makeKnown(deps: MakingKnown, tenant: string, turn: TurnDocument): Promise<void> {
  const { turnId, sessionKey: key, failure, lastFrame = FRAME_AFTER_ALL, forgetAt } = turn;
  deps.runs.stop(turnId);
  deps.bus.publish(subjects.turnEnded, Buffer.from(JSON.stringify(turnId)));
  if (failure) {
    const frames = createFrameWriter(deps, { tenant, turnId, from: lastFrame });
    frames.end({ type: 'error', error: failure });
    frames.close();
    deps.waiting.tell(tenant, turnId, { failure });
  }
  const next = (await withdraw(deps.sessions.for({ tenant }), tenant, { key, entry: toEntry(turn) }))?.queue[0];
  if (next !== undefined) deps.waits(tenant, next);
  if (forgetAt !== undefined && hasBodies(turn)) await forget(deps.bodies, tenant, turnId, forgetAt);
}
