import { type TurnFailure } from '@switchyard/contracts';
import { type TurnDocument, hasEnded, type TurnEnd } from '../../model/turn-document.ts';
import { toEntry } from '../../model/queue-entry.ts';
import { leave } from '../../queue/queue-removal.ts';
import { forget, hasBodies, keep } from '../../model/stored-text.ts';
import { toError, toFailure } from '../store/turn-failure.ts';
import { createFrameWriter } from '../../frames/frame-publisher.ts';
import { lookAgain, type Hold } from '../../queue/session-lease.ts';
import { logFailedTurn } from '../store/turn-failure-log.ts';
import type { RunDeps } from './turn-run.ts';
import { noteEnd } from '../store/turn-metrics.ts';
import { commitFailure, commitShared } from '../store/turn-store.ts';
import type { Waiting } from '../ending/turn-waiters.ts';

/** Answers up to this length are published in one frame. */
const ONE_FRAME_CHARS = 10_000;

/** A finished turn that has merged other turns. */
export interface Lead {
  turn: TurnDocument;
  end: TurnEnd;
}

/**
 * Ends the turns that the queue head has merged with the same result, and removes them from the queue. They are ended before the head is
 * dequeued, so that the next lease holder finds them. A cancelled head shares nothing; the merged turns then run on their own. Returns a
 * function that notifies their readers.
 */
export async function endJoined(deps: RunDeps & { waiting: Waiting }, hold: Hold, lead: Lead): Promise<() => void> {
  const { joined = [], state } = lead.turn;
  if (state === 'cancelled') return () => undefined;
  const now = deps.store.now();
  const ended = await Promise.all(joined.map(({ turnId }) => hold.persist(() => endOne(deps, hold, { ...lead, now }, turnId))));
  const others = ended.filter((other) => other !== undefined);
  for (const other of others) {
    const left = await hold.persist(() => leave(deps.sessions.for(hold), hold, toEntry(other)));
    if (left) hold.session = left;
    else if (!(await lookAgain(deps.sessions, hold))) break;
  }
  return () => {
    for (const other of others) if (other.state !== 'cancelled') tell(deps, hold, other, lead.end);
  };
}

/** Returns the finished turn; undefined if it has not ended or does not exist. */
async function endOne(deps: RunDeps, hold: Hold, lead: Lead & { now: number }, turnId: string): Promise<TurnDocument | undefined> {
  const turns = deps.turns.for(hold);
  const there = await turns.get(turnId);
  if (!there || hasEnded(there)) return there ?? undefined;
  const written = await write(deps, hold, lead, there);
  if (!written) {
    const found = await turns.get(turnId);
    return found && hasEnded(found) ? found : undefined;
  }
  const { failure, forgetAt } = written;
  noteEnd('durable', failure ?? lead.end.result ?? { code: 'UNKNOWN' }, lead.now - there.createdAt);
  if (failure) logFailedTurn(deps.log, hold.tenant, { turn: written, error: toError(failure) });
  if (forgetAt !== undefined && hasBodies(there)) await forget(deps.bodies, hold.tenant, turnId, forgetAt);
  return written;
}

async function write(
  deps: RunDeps,
  hold: Hold,
  { turn: lead, end, now }: Lead & { now: number },
  turn: TurnDocument,
): Promise<TurnDocument | null> {
  const turns = deps.turns.for(hold);
  const ending = { turn, fence: hold.fence, lastFrame: end.result ? LAST_OF_ANSWERED : LAST_OF_FAILED, now };
  if (end.failure) return commitFailure(turns, ending, failureOf(turn, end.failure));
  const answer = await keep(deps.bodies.for(hold), turn.turnId, end.result.response);
  return commitShared(turns, ending, { lead, answer });
}

/** Failure of the lead as the readers of a merged turn see it. */
function failureOf(turn: TurnDocument, failure: TurnFailure): TurnFailure {
  return toFailure(toError(failure), turn);
}

/** Frame 0 announces acceptance. An answered turn then gets its text and its end. */
const LAST_OF_FAILED = 1;
const LAST_OF_ANSWERED = 2;

/** Readers that miss a frame read the turn instead. The same applies to texts that are too long for one frame. */
function tell(deps: RunDeps & { waiting: Waiting }, hold: Hold, turn: TurnDocument, end: TurnEnd): void {
  const { tenant, fence } = hold;
  const { turnId, failure } = turn;
  const text = end.result?.response ?? '';
  const inOne = text !== '' && text.length <= ONE_FRAME_CHARS;
  const frames = createFrameWriter(deps, {
    tenant,
    turnId,
    fence,
    held: () => hold.held(),
    from: end.result && !inOne ? LAST_OF_ANSWERED : 1,
  });
  const own: TurnEnd = end.result
    ? { result: { ...end.result, tokensUsed: turn.tokensUsed ?? end.result.tokensUsed } }
    : { failure: failure ?? end.failure };
  if (inOne) frames.push({ type: 'delta', text });
  frames.end(own.result ? { type: 'done', result: own.result } : { type: 'error', error: own.failure });
  frames.close();
  deps.waiting.tell(tenant, turnId, own);
}
