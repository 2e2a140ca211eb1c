import { setTimeout as sleep } from 'node:timers/promises';
import type { Log, LogPosition } from '@switchyard/bus';
import { subjects } from '@switchyard/contracts';

/** How long a log may report less than was read from it before its newest events count as lost. */
const CATCH_UP_TIMEOUT_MS = 5_000;
const MIN_DELAY_MS = 50;
const MAX_DELAY_MS = 1_000;

/** The position of the last event that was read from a log, and its time in epoch milliseconds if it is known. */
export interface KnownPosition {
  name: string;
  seq: number;
  at?: number;
}

/**
 * Returns the position of a log that contained `known`. A log that reports less is read again until it has caught up, because a NATS
 * server that becomes leader of a stream can report a state before it has applied the last writes. The smaller position is returned after
 * five seconds.
 */
export async function awaitPosition(events: Log, known: KnownPosition): Promise<LogPosition> {
  const deadline = performance.now() + CATCH_UP_TIMEOUT_MS;
  for (let delayMs = MIN_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
    const current = await events.position();
    if (current.name !== known.name || current.seq >= known.seq || performance.now() > deadline) return current;
    await sleep(delayMs, undefined, { ref: false });
  }
}

/**
 * Returns the position of a log, and whether events up to `known` were lost: the log was recreated, or it remains shorter. A log that lost
 * its newest events may have grown beyond `known` since, so the event there is compared as well.
 */
export async function checkLog(events: Log, known: KnownPosition): Promise<LogPosition & { isLost: boolean }> {
  const current = await awaitPosition(events, known);
  const isLost = current.name !== known.name || current.seq < known.seq || (await wasReplaced(events, known));
  return { ...current, isLost };
}

/** Whether the log has another event at this sequence number. An event that was removed because of its age proves nothing. */
async function wasReplaced(events: Log, { seq, at }: KnownPosition): Promise<boolean> {
  if (at === undefined) return false;
  const [entry] = await events.page(subjects.events, seq, 1);
  return entry?.seq === seq && entry.at !== at;
}
