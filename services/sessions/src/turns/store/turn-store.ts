import { ServiceError, type TurnFailure, type TurnResult, type TurnUsage } from '@switchyard/contracts';
import type { Documents, OutboxEvent } from '@switchyard/store';
import type { Effect } from '../../model/session-document.ts';
import { type MergedMessage, type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import type { StoredText } from '../../model/text-document.ts';
import { DAY_MS } from '../../model/retention.ts';
import { saysNothing } from '../../screening/silent-response.ts';
import { getChannel } from '../../model/session-key.ts';
import { noUsage, turnEndedEvent } from './turn-ended-event.ts';
import { abortEvents } from './abort-event.ts';
import { truncateText } from '../../frames/frame-splitting.ts';

/*
 * Writes to a turn document during a run. Each is guarded by the fence of the runner and by the turn not having ended, so that only one of
 * several endings applies.
 */

const UNFINISHED = { in: ['queued', 'running'] } as const;

export interface TakeTurnOptions {
  turnId: string;
  fence: number;
  /** Number of attempts to add. */
  attempts: number;
  /** Apply only if no attempt was counted yet. */
  uncounted?: true;
  /** Time of the first start. */
  startedAt: number;
}

/**
 * Takes a turn that another runner may have started, for the holder of the session lease. Without this write a paused runner could still
 * append to the turn or end it. Returns null if the turn has ended or a later lease has taken it.
 */
export function takeTurn(
  turns: Documents<TurnDocument>,
  { turnId, fence, attempts, uncounted, startedAt }: TakeTurnOptions,
): Promise<TurnDocument | null> {
  return turns.update(
    { turnId, state: UNFINISHED, fence: { lt: fence }, ...(uncounted ? { attempts: 0 } : {}) },
    { set: { state: 'running', fence, startedAt, tail: [] }, unset: ['parked'], inc: { attempts } },
  );
}

export interface CheckpointOptions {
  turnId: string;
  fence: number;
  /** Number of checkpoints written before. */
  after: number;
  /** Number of the next frame. */
  frame: number;
  /** Checkpoint entry to append. Only the new entry is written. */
  entry?: unknown;
  /** Model output since the last checkpoint. */
  text?: StoredText;
  /** All messages that the turn has merged. */
  joined?: readonly MergedMessage[];
  /** Set when the turn waits for an approval. */
  parked?: TurnDocument['parked'];
  /** Set when the turn was started with the lease of its acceptance, which its document does not show yet. */
  started?: { at: number };
}

/** Stores the progress of a turn. Without it the next runner would start again and repeat tool calls. */
export async function writeCheckpoint(turns: Documents<TurnDocument>, options: CheckpointOptions): Promise<TurnDocument> {
  const { turnId, fence, after, frame, entry, text, joined, parked, started } = options;
  const merged = joined === undefined ? {} : { merged: [...joined] };
  const written = await turns.update(
    { turnId, state: UNFINISHED, fence: { lte: fence }, checkpoints: after },
    {
      set: {
        state: 'running',
        fence,
        frame,
        ...merged,
        ...(parked ? { parked } : {}),
        ...(entry === undefined ? {} : { tail: [] }),
        ...(started ? { startedAt: started.at } : {}),
      },
      push: { ...(entry === undefined ? {} : { steps: entry }), ...(text === undefined ? {} : { tail: text }) },
      inc: { checkpoints: 1, ...(started ? { attempts: 1 } : {}), ...(parked ? { parks: 1 } : {}) },
    },
  );
  if (written) return written;
  const existing = await turns.get(turnId);
  // The write was applied before and only its reply was lost.
  if (existing && !hasEnded(existing) && existing.fence === fence && existing.checkpoints === after + 1) return existing;
  throw existing?.state === 'cancelled' ? turnEndedElsewhere() : turnTakenOver();
}

/** Turn to end, and the lease of its runner. */
export interface TurnEnding {
  turn: TurnDocument;
  fence: number;
  lastFrame: number;
  now: number;
  /** Turn trace as JSON. */
  trace?: string | undefined;
  /** Usage of models; without it the turn called none. */
  usage?: TurnUsage | undefined;
  /** Number of model steps that were begun. */
  steps?: number | undefined;
}

export interface AnswerCommit {
  result: TurnResult;
  /** The stored response. */
  answer: StoredText;
  costUsd: number;
  steps: number;
  /** Last counted number and epoch of the session, as read by the lease holder. */
  lastSeq: number;
  epoch: string;
  warnings: readonly string[];
  /** The memory service has to be notified. */
  captureMemory: boolean;
  /** The turn may be auto-continued. */
  autoContinue: boolean;
  /** Set on commands, which are not part of the history and have no number. */
  effect?: Effect | undefined;
  /** The prompt contained text from outside. */
  isTainted: boolean;
}

/**
 * Commits the answer: the turn is done, whatever happens next. Its number decides whether it is counted. The turn is dequeued next, and
 * readers are notified after that. Returns null if the turn has ended or a later lease has taken it.
 */
export function commitAnswer(
  turns: Documents<TurnDocument>,
  ending: TurnEnding,
  { result, answer, costUsd, steps, lastSeq, epoch, warnings, captureMemory, autoContinue, effect, isTainted }: AnswerCommit,
): Promise<TurnDocument | null> {
  const { turn, fence, lastFrame, now, trace, usage = noUsage() } = ending;
  return turns.update(
    { turnId: turn.turnId, state: UNFINISHED, fence: { lte: fence } },
    {
      set: {
        state: 'done',
        fence,
        answer,
        tokensUsed: result.tokensUsed,
        finishReason: result.finishReason,
        costUsd,
        ...(usage.calls > 0 ? { usage } : {}),
        stepCount: steps,
        ...(effect ? { effect } : { seq: lastSeq + 1 }),
        ...(isTainted ? { tainted: true as const } : {}),
        epoch,
        tail: [],
        lastFrame,
        finishedAt: now,
        ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
        ...(captureMemory ? { memoryPendingSince: now } : {}),
        ...(autoContinue ? { continuePendingSince: now } : {}),
        ...(trace ? { trace } : {}),
      },
      emit: [
        answerEvent(turn, result, now),
        ...abortEvents(turn, { finish: result.finishReason }, now),
        turnEndedEvent(turn, { state: 'done', finishReason: result.finishReason, usage, steps, trace, now }),
      ],
      deferSync: true,
    },
  );
}

/** Event of an answer: sent to its channel, or filtered because there is nothing to deliver. */
function answerEvent({ turnId, sessionKey, agentId }: TurnDocument, { response }: TurnResult, timestamp: number): OutboxEvent {
  const channelId = getChannel(sessionKey);
  const reason = saysNothing(response);
  if (reason) return { name: 'response:filtered', payload: { turnId, sessionKey, agentId, channelId, reason, timestamp } };
  return { name: 'message:sent', payload: { channelId, messageId: `${turnId}/1`, content: truncateText(response) } };
}

/** Answer that a merged turn shares with the turn that merged it. */
export interface MergedAnswer {
  /** The turn that merged this one and is done. */
  lead: TurnDocument;
  /** The response, stored for the merged turn. */
  answer: StoredText;
}

/**
 * Commits a merged turn with the answer of its lead. It gets no number, because the lead is counted for both with all costs. Without this
 * write its message would be answered again. Returns null as `commitAnswer` does.
 */
export function commitMerged(
  turns: Documents<TurnDocument>,
  { turn, fence, lastFrame, now }: TurnEnding,
  { lead, answer }: MergedAnswer,
): Promise<TurnDocument | null> {
  const { turnId: answeredBy, finishReason, epoch } = lead;
  const free = { tokensUsed: { input: 0, output: 0, total: 0 }, costUsd: 0, stepCount: 0 };
  return turns.update(
    { turnId: turn.turnId, state: UNFINISHED, fence: { lte: fence } },
    {
      set: { state: 'done', fence, answer, mergedInto: answeredBy, finishReason, epoch, ...free, lastFrame, finishedAt: now },
      emit: [
        turnEndedEvent(turn, {
          state: 'done',
          ...(finishReason && { finishReason }),
          mergedInto: answeredBy,
          usage: noUsage(),
          steps: 0,
          now,
        }),
      ],
    },
  );
}

/** Commits the failure of a turn. The turn is not part of the history and is kept for a day, so that its client can read the failure. */
export function commitFailure(
  turns: Documents<TurnDocument>,
  { turn, fence, lastFrame, now, trace, usage = noUsage(), steps = 0 }: TurnEnding,
  failure: TurnFailure,
): Promise<TurnDocument | null> {
  const state = failure.code === 'CANCELLED' ? 'cancelled' : 'failed';
  return turns.update(
    { turnId: turn.turnId, state: UNFINISHED, fence: { lte: fence } },
    {
      set: {
        state,
        fence,
        failure,
        ...(usage.calls > 0 ? { usage, stepCount: steps } : {}),
        tail: [],
        lastFrame,
        finishedAt: now,
        forgetAt: now + DAY_MS,
        ...(trace ? { trace } : {}),
      },
      emit: [...abortEvents(turn, { failure }, now), turnEndedEvent(turn, { state, failure, usage, steps, trace, now })],
    },
  );
}

/** Commits a cancellation, whichever replica runs the turn. All later writes of its runner miss. Returns null if the turn has ended. */
export function commitCancel(
  turns: Documents<TurnDocument>,
  { turn, failure, lastFrame, now, usage = noUsage(), steps = 0 }: Omit<TurnEnding, 'fence'> & { failure: TurnFailure },
): Promise<TurnDocument | null> {
  return turns.update(
    { turnId: turn.turnId, state: UNFINISHED },
    {
      set: {
        state: 'cancelled',
        failure,
        tail: [],
        lastFrame,
        finishedAt: now,
        forgetAt: now + DAY_MS,
        ...(usage.calls > 0 ? { usage, stepCount: steps } : {}),
      },
      emit: [...abortEvents(turn, { failure }, now), turnEndedEvent(turn, { state: 'cancelled', failure, usage, steps, now })],
    },
  );
}

/** Commits a turn that was dropped from a full queue. Applies only to a turn that no runner has started. Returns null otherwise. */
export function commitDropped(
  turns: Documents<TurnDocument>,
  { turn, failure, lastFrame, now }: Pick<TurnEnding, 'turn' | 'lastFrame' | 'now'> & { failure: TurnFailure },
): Promise<TurnDocument | null> {
  return turns.update(
    { turnId: turn.turnId, state: 'queued', fence: 0, attempts: 0 },
    {
      set: { state: 'cancelled', failure, lastFrame, finishedAt: now, forgetAt: now + DAY_MS },
      emit: [turnEndedEvent(turn, { state: 'cancelled', failure, usage: noUsage(), steps: 0, now })],
    },
  );
}

/** Another replica has taken the turn over or has ended it. */
export function turnTakenOver(): ServiceError {
  return new ServiceError('ABORTED', 'turn lease was taken over by another replica', { details: { reason: 'FENCED', retryable: false } });
}

/** The runner only has to dequeue the turn. */
export function turnEndedElsewhere(): ServiceError {
  return new ServiceError('CANCELLED', 'turn was ended by another replica', { details: { reason: 'FENCED', retryable: false } });
}

export function isEndedElsewhere(error: unknown): boolean {
  return isFenced(error) && (error as ServiceError).code === 'CANCELLED';
}

export function isFenced(error: unknown): boolean {
  return error instanceof ServiceError && error.details.reason === 'FENCED';
}
