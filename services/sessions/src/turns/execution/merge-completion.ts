import { type TurnFailure } from '@switchyard/contracts';
import { type TurnDocument, hasEnded, type TurnEnd } from '../../model/turn-document.ts';
import { formatEntry } from '../../model/queue-entry.ts';
import { removeMerged } from '../../queue/queue-removal.ts';
import { expireTexts, hasBodies, storeText } from '../../model/stored-text.ts';
import { toError, toFailure } from '../store/turn-failure.ts';
import { createFrameWriter } from '../../frames/frame-publisher.ts';
import { reloadSession, type SessionLease } from '../../queue/session-lease.ts';
import { logFailedTurn } from '../store/turn-failure-log.ts';
import type { TurnRunDeps } from './turn-run.ts';
import { recordEnd } from '../store/turn-metrics.ts';
import { wakeOrigin } from '../store/turn-ended-event.ts';
import { commitFailure, commitMerged } from '../store/turn-store.ts';
import type { TurnWaiters } from '../ending/turn-waiters.ts';

/** Answers up to this length are published in one frame. */
const MAX_SINGLE_FRAME_CHARS = 10_000;

/** A finished turn that has merged other turns. */
export interface EndedLead {
  turn: TurnDocument;
  end: TurnEnd;
}

/**
 * Ends the turns that the queue head has merged with the same result, and removes them from the queue. They are ended before the head is
 * dequeued, so that the next lease holder finds them. A cancelled head shares nothing; the merged turns then run on their own. Returns a
 * function that notifies their readers.
 */
export async function completeMerged(
  deps: TurnRunDeps & { waiting: TurnWaiters },
  hold: SessionLease,
  lead: EndedLead,
): Promise<() => void> {
  const { merged = [], state } = lead.turn;
  if (state === 'cancelled') return () => undefined;
  const now = deps.store.now();
  const ended = await Promise.all(merged.map(({ turnId }) => hold.retryWrite(() => completeOne(deps, hold, { ...lead, now }, turnId))));
  const others = ended.filter((other) => other !== undefined);
  for (const other of others) {
    const left = await hold.retryWrite(() => removeMerged(deps.sessions.for(hold), hold, formatEntry(other)));
    if (left) hold.session = left;
    else if (!(await reloadSession(deps.sessions, hold))) break;
  }
  return () => {
    for (const other of others) if (other.state !== 'cancelled') notifyReaders(deps, hold, other, lead.end);
  };
}

/** Returns the finished turn; undefined if it has not ended or does not exist. */
async function completeOne(
  deps: TurnRunDeps,
  hold: SessionLease,
  lead: EndedLead & { now: number },
  turnId: string,
): Promise<TurnDocument | undefined> {
  const turns = deps.turns.for(hold);
  const existing = await turns.get(turnId);
  if (!existing || hasEnded(existing)) return existing ?? undefined;
  const written = await commitOne(deps, hold, lead, existing);
  if (!written) {
    const found = await turns.get(turnId);
    return found && hasEnded(found) ? found : undefined;
  }
  const { failure, forgetAt } = written;
  recordEnd('durable', failure ?? lead.end.result ?? { code: 'UNKNOWN' }, lead.now - existing.createdAt);
  if (failure) logFailedTurn(deps.log, hold.tenant, { turn: written, error: toError(failure) });
  if (forgetAt !== undefined && hasBodies(existing)) await expireTexts(deps.bodies, hold.tenant, turnId, forgetAt);
  return written;
}

async function commitOne(
  deps: TurnRunDeps,
  hold: SessionLease,
  { turn: lead, end, now }: EndedLead & { now: number },
  turn: TurnDocument,
): Promise<TurnDocument | null> {
  const turns = deps.turns.for(hold);
  const ending = { turn, fence: hold.fence, lastFrame: end.result ? ANSWERED_LAST_FRAME : FAILED_LAST_FRAME, now };
  if (end.failure) return commitFailure(turns, ending, failureFor(turn, end.failure));
  const answer = await storeText(deps.bodies.for(hold), turn.turnId, end.result.response);
  return commitMerged(turns, ending, { lead, answer });
}

/** Failure of the lead as the readers of a merged turn see it. */
function failureFor(turn: TurnDocument, failure: TurnFailure): TurnFailure {
  return toFailure(toError(failure), turn);
}

/** Frame 0 announces acceptance. An answered turn then gets its text and its end. */
const FAILED_LAST_FRAME = 1;
const ANSWERED_LAST_FRAME = 2;

/** Readers that miss a frame read the turn instead. The same applies to texts that are too long for one frame. */
function notifyReaders(deps: TurnRunDeps & { waiting: TurnWaiters }, hold: SessionLease, turn: TurnDocument, end: TurnEnd): void {
  const { tenant, fence } = hold;
  const { turnId, failure } = turn;
  const text = end.result?.response ?? '';
  const fitsOneFrame = text !== '' && text.length <= MAX_SINGLE_FRAME_CHARS;
  const frames = createFrameWriter(deps, {
    tenant,
    turnId,
    fence,
    isLeaseHeld: () => hold.isHeld(),
    from: end.result && !fitsOneFrame ? ANSWERED_LAST_FRAME : 1,
  });
  const own: TurnEnd = end.result
    ? { result: { ...end.result, tokensUsed: turn.tokensUsed ?? end.result.tokensUsed } }
    : { failure: failure ?? end.failure };
  if (fitsOneFrame) frames.push({ type: 'delta', text });
  frames.end(own.result ? { type: 'done', result: own.result } : { type: 'error', error: own.failure });
  frames.close();
  deps.waiting.notify(tenant, turnId, own);
  wakeOrigin(deps.bus, turn);
}
