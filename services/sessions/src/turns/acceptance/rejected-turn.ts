import type { Documents } from '@switchyard/store';
import type { TurnDocument } from '../../model/turn-document.ts';
import { noUsage, turnEndedEvent } from '../store/turn-ended-event.ts';
import { toFailure } from '../store/turn-failure.ts';

/** Retention of a rejected turn that a client may still ask for. Equal to the retention of its frames. */
const REJECTED_TTL_MS = 600_000;

/**
 * Removes a rejected turn. A turn with a key may have been found by a retry and reported as accepted; it is ended instead, and its key is
 * released.
 */
export async function discardRejected(
  turns: Documents<TurnDocument>,
  { turnId, idempotencyKey, ...turn }: TurnDocument,
  { error, now }: { error: unknown; now: number },
): Promise<void> {
  const waits = { turnId, state: 'queued', fence: 0 } as const;
  if (idempotencyKey === undefined) return void (await turns.remove(waits));
  const failure = toFailure(error, { ...turn, turnId });
  const ended = { state: 'failed', failure, lastFrame: 1, finishedAt: now, forgetAt: now + REJECTED_TTL_MS } as const;
  const facts = { state: 'failed', failure, usage: noUsage(), steps: 0, now } as const;
  const emit = [turnEndedEvent({ ...turn, turnId }, facts)];
  await turns.update(waits, { set: ended, unset: ['idempotencyKey', 'keyUntil'], emit });
}
