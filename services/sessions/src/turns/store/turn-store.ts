import { ServiceError, type TurnFailure, type TurnResult } from '@switchyard/contracts';
import type { Documents, OutboxEvent } from '@switchyard/store';
import type { Effect } from '../../model/session-document.ts';
import { type Heard, type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import type { Said } from '../../model/text-document.ts';
import { DAY_MS } from '../../model/retention.ts';
import { saysNothing } from '../../screening/silent-response.ts';
import { channelOf } from '../../model/session-key.ts';
import { abortedBy, type Aborted } from './abort-event.ts';
import { excerptOf } from '../../frames/frame-splitting.ts';

/*
 * The writes to a turn's document while it is worked on. Each is guarded by the fence of whoever works, and by the turn not having
 * ended: of two who end a turn one does.
 */

const UNENDED = { in: ['queued', 'running'] } as const;

export interface Taking {
  turnId: string;
  fence: number;
  /** How many attempts this one counts for. */
  attempts: number;
  /** Only a turn that has counted none. */
  uncounted?: true;
  /** When it was begun first. */
  startedAt: number;
}

/**
 * Takes a turn that somebody may have begun, for whoever has claimed its session. Without this write a runner that was paused before
 * it could still append to the turn, or end it. Null when it has ended, or somebody with a later lease has it.
 */
export function take(
  turns: Documents<TurnDocument>,
  { turnId, fence, attempts, uncounted, startedAt }: Taking,
): Promise<TurnDocument | null> {
  return turns.update(
    { turnId, state: UNENDED, fence: { lt: fence }, ...(uncounted ? { attempts: 0 } : {}) },
    { set: { state: 'running', fence, startedAt, tail: [] }, inc: { attempts } },
  );
}

export interface Checkpoint {
  turnId: string;
  fence: number;
  /** How many there were before. */
  after: number;
  /** The number of the next frame. */
  frame: number;
  /** What was done: appended, so that a checkpoint costs what is new. */
  mark?: unknown;
  /** What the model said since the checkpoint before. */
  piece?: Said;
  /** All that it has heard besides its own message. */
  joined?: readonly Heard[];
  /** The turn was begun with its session's lease, which nothing in its document says yet. */
  begun?: { at: number };
}

/** Keeps how far a turn is. Without it, whoever takes over would begin again, and repeat what its tools did. */
export async function checkpoint(turns: Documents<TurnDocument>, given: Checkpoint): Promise<TurnDocument> {
  const { turnId, fence, after, frame, mark, piece, joined, begun } = given;
  const heard = joined === undefined ? {} : { joined: [...joined] };
  const written = await turns.update(
    { turnId, state: UNENDED, fence: { lte: fence }, checkpoints: after },
    {
      set: {
        state: 'running',
        fence,
        frame,
        ...heard,
        ...(mark === undefined ? {} : { tail: [] }),
        ...(begun ? { startedAt: begun.at } : {}),
      },
      push: { ...(mark === undefined ? {} : { steps: mark }), ...(piece === undefined ? {} : { tail: piece }) },
      inc: { checkpoints: 1, ...(begun ? { attempts: 1 } : {}) },
    },
  );
  if (written) return written;
  const there = await turns.get(turnId);
  // Written before, and the answer was lost.
  if (there && !hasEnded(there) && there.fence === fence && there.checkpoints === after + 1) return there;
  throw there?.state === 'cancelled' ? endedMeanwhile() : fenced();
}

/** How a turn ends: where its number and its epoch come from, and whose lease it is. */
export interface Ending {
  turn: TurnDocument;
  fence: number;
  lastFrame: number;
  now: number;
  /** How it went. */
  evidence?: string | undefined;
}

export interface Answer {
  result: TurnResult;
  /** The response, kept. */
  answer: Said;
  costUsd: number;
  steps: number;
  /** What its session last counted, as the lease read it, and the session's epoch. */
  lastSeq: number;
  epoch: string;
  warnings: readonly string[];
  /** Something of it is to be remembered. */
  remember: boolean;
  /** Its conversation may go on from it by itself. */
  followed: boolean;
  /** It was a command: it is nobody's history, and has no number. */
  effect?: Effect | undefined;
}

/**
 * The commit point of a turn that has an answer: after it the turn is done, whatever happens next. Its number says whether it was
 * counted. Without this write there is no answer. It is settled next, and nobody is told before. Null when it has ended, or somebody
 * with a later lease has it.
 */
export function commitAnswer(
  turns: Documents<TurnDocument>,
  ending: Ending,
  { result, answer, costUsd, steps, lastSeq, epoch, warnings, remember, followed, effect }: Answer,
): Promise<TurnDocument | null> {
  const { turn, fence, lastFrame, now, evidence } = ending;
  return turns.update(
    { turnId: turn.turnId, state: UNENDED, fence: { lte: fence } },
    {
      set: {
        state: 'done',
        fence,
        answer,
        tokensUsed: result.tokensUsed,
        finishReason: result.finishReason,
        costUsd,
        stepCount: steps,
        ...(effect ? { effect } : { seq: lastSeq + 1 }),
        epoch,
        tail: [],
        lastFrame,
        finishedAt: now,
        ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
        ...(remember ? { unremembered: now } : {}),
        ...(followed ? { unfollowed: now } : {}),
        ...(evidence ? { evidence } : {}),
      },
      emit: [saidBy(turn, result, now), ...abortedBy(turn, { finish: result.finishReason }, now)],
      followed: true,
    },
  );
}

/** What is told of an answer: that it left for its channel, or that there was nothing to be said. */
function saidBy({ turnId, sessionKey, agentId }: TurnDocument, { response }: TurnResult, timestamp: number): OutboxEvent {
  const channelId = channelOf(sessionKey);
  const reason = saysNothing(response);
  if (reason) return { name: 'response:filtered', payload: { turnId, sessionKey, agentId, channelId, reason, timestamp } };
  return { name: 'message:sent', payload: { channelId, messageId: `${turnId}/1`, content: excerptOf(response) } };
}

/** The answer that a turn has in common with the one that heard its message. */
export interface SharedAnswer {
  /** The turn that was asked the model, and is done. */
  lead: TurnDocument;
  /** Its answer, kept for this turn too. */
  answer: Said;
}

/**
 * The commit point of a turn whose message another one heard: it has the same answer, and no number, because that other one is counted
 * for both, with all that the answer cost. Without this write it would be asked once more. Null as for `commitAnswer`.
 */
export function commitShared(
  turns: Documents<TurnDocument>,
  { turn, fence, lastFrame, now }: Ending,
  { lead, answer }: SharedAnswer,
): Promise<TurnDocument | null> {
  const { turnId: answeredBy, finishReason, epoch } = lead;
  const free = { tokensUsed: { input: 0, output: 0, total: 0 }, costUsd: 0, stepCount: 0 };
  return turns.update(
    { turnId: turn.turnId, state: UNENDED, fence: { lte: fence } },
    { set: { state: 'done', fence, answer, answeredBy, finishReason, epoch, ...free, lastFrame, finishedAt: now } },
  );
}

/** The commit point of a turn that has none. Nobody's history, it is kept for a day, for whoever asks what became of it. */
export function commitFailure(
  turns: Documents<TurnDocument>,
  { turn, fence, lastFrame, now, evidence }: Ending,
  failure: TurnFailure,
): Promise<TurnDocument | null> {
  return turns.update(
    { turnId: turn.turnId, state: UNENDED, fence: { lte: fence } },
    {
      set: {
        state: failure.code === 'CANCELLED' ? 'cancelled' : 'failed',
        fence,
        failure,
        tail: [],
        lastFrame,
        finishedAt: now,
        forgetAt: now + DAY_MS,
        ...(evidence ? { evidence } : {}),
      },
      emit: abortedBy(turn, { failure }, now),
    },
  );
}

/**
 * The commit point of a turn that somebody cancels, whoever runs it: from then on its runner's writes miss. Null when it has ended.
 */
export function commitCancel(
  turns: Documents<TurnDocument>,
  { turn, failure, lastFrame, now }: Pick<Ending, 'lastFrame' | 'now'> & { turn: Aborted; failure: TurnFailure },
): Promise<TurnDocument | null> {
  return turns.update(
    { turnId: turn.turnId, state: UNENDED },
    {
      set: { state: 'cancelled', failure, tail: [], lastFrame, finishedAt: now, forgetAt: now + DAY_MS },
      emit: abortedBy(turn, { failure }, now),
    },
  );
}

/**
 * The commit point of a turn that is left out because too many wait. Only of one that nobody has begun, as far as its document says.
 * Null when that is no longer so.
 */
export function commitLeftOut(
  turns: Documents<TurnDocument>,
  { turnId, failure, lastFrame, now }: Pick<Ending, 'lastFrame' | 'now'> & { turnId: string; failure: TurnFailure },
): Promise<TurnDocument | null> {
  return turns.update(
    { turnId, state: 'queued', fence: 0, attempts: 0 },
    { set: { state: 'cancelled', failure, lastFrame, finishedAt: now, forgetAt: now + DAY_MS } },
  );
}

/** Somebody else has the turn now, or has ended it. */
export function fenced(): ServiceError {
  return new ServiceError('ABORTED', 'somebody else took this turn over', { details: { reason: 'FENCED', retryable: false } });
}

/** Its runner has nothing left to do but to settle it. */
export function endedMeanwhile(): ServiceError {
  return new ServiceError('CANCELLED', 'somebody else ended this turn', { details: { reason: 'FENCED', retryable: false } });
}

export function wasEnded(error: unknown): boolean {
  return isFenced(error) && (error as ServiceError).code === 'CANCELLED';
}

export function isFenced(error: unknown): boolean {
  return error instanceof ServiceError && error.details.reason === 'FENCED';
}
