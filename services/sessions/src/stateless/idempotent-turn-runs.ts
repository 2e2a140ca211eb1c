import {
  ServiceError,
  type KeyedTurn,
  type StatelessResult,
  type StatelessTurn,
  type TurnFailure,
  type TurnFrame,
} from '@switchyard/contracts';
import type { Bus, Ctx } from '@switchyard/bus';
import type { Clock, Lease } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import { storeExpiringText } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { turnTimedOut, turnCancelled } from '../turns/store/turn-errors.ts';
import { createFrameWriter, type FrameWriter } from '../frames/frame-publisher.ts';
import { persist } from '../queue/session-lease.ts';
import type { FrameLogQuota } from '../frames/frame-log-quota.ts';
import type { RunningTurns } from '../turns/ending/running-turns.ts';
import { removeKeyedTurn } from '../storage/keyed-turn-removal.ts';
import { countTextBytes } from '../storage/stored-bytes.ts';
import type { StorageQuota } from '../storage/storage-quota.ts';
import { runStateless, type StatelessDeps } from './stateless-turn.ts';
import { hasEnded } from '../model/turn-document.ts';

export type TurnCaller = Pick<Ctx, 'principal' | 'requestId' | 'traceparent'>;

/** The request without its turn id and idempotency key. */
export type IdempotentRequest = Omit<StatelessTurn, 'turnId'> & Pick<KeyedTurn, 'whole'>;

export interface IdempotentTurnRunsDeps extends StatelessDeps {
  kept: Collection<KeyedTurnDocument>;
  bodies: Collection<BodyDocument>;
  store: Pick<Store, 'now'>;
  clock: Clock;
  bus: Bus;
  shares: FrameLogQuota;
  runs: RunningTurns;
  log: Logger;
  turnDeadlineMs: number;
  storage?: Pick<StorageQuota, 'add' | 'rejectIfFull'>;
}

/** Runs claimed turns. */
export interface IdempotentTurnRuns extends AsyncDisposable {
  /** Resolves once the turn has started. Rejects if it is refused; its key is then free. */
  begin(lease: Lease<KeyedTurnDocument>, request: IdempotentRequest, caller: TurnCaller): Promise<void>;
  /** Ends a turn that is not run any more and notifies its readers. */
  fail(lease: Lease<KeyedTurnDocument>, error: ServiceError): Promise<void>;
}

/** Distance between the frame numbers of two runs. */
const FRAMES_OF_A_RUN = 1_000_000;
/** Time that a shutdown waits for running turns. */
const FINISH_MS = 5_000;
const SHUTTING_DOWN = 'SHUTTING_DOWN';

/** A turn running here. */
interface Run {
  lease: Lease<KeyedTurnDocument>;
  frames: FrameWriter;
  /** No reader consumes text pieces. */
  whole: boolean;
  stop: AbortController;
  /** All text so far, and the lengths of its pieces. */
  text: string;
  pieces: number[];
}

export function createIdempotentTurnRuns(deps: IdempotentTurnRunsDeps): IdempotentTurnRuns {
  const running = new Map<Run, Promise<void>>();
  return {
    async begin(lease, request, caller) {
      const run = createRun(deps, lease, request.whole ?? false);
      const turn = runStateless(
        deps,
        { ...request, turnId: lease.document.turnId },
        {
          ...caller,
          deadline: Date.now() + deps.turnDeadlineMs,
          signal: run.stop.signal,
          send: (frame) => addFrame(run, frame),
        },
      );
      try {
        const accepted = await turn.next();
        if (!accepted.done) await publishFrame(run, accepted.value);
      } catch (error) {
        await end(deps, run, { error: toServiceError(error), free: lease.document.attempts === 1 || !isResponse(run) });
        throw error;
      }
      const forgetRun = deps.runs.add(lease.document.turnId, () => run.stop.abort(turnCancelled()));
      const late = deps.clock.after(deps.turnDeadlineMs, () => run.stop.abort(turnTimedOut(deps.turnDeadlineMs)));
      const over = play(deps, run, turn).finally(() => {
        late();
        forgetRun();
        running.delete(run);
      });
      running.set(run, over);
    },
    fail: (lease, error) => end(deps, createRun(deps, lease, true), { error, free: false }),
    async [Symbol.asyncDispose]() {
      const grace = deps.clock.after(FINISH_MS, () => {
        for (const run of running.keys()) run.stop.abort(shuttingDown());
      });
      await Promise.all(running.values());
      grace();
    },
  };
}

function createRun(deps: IdempotentTurnRunsDeps, lease: Lease<KeyedTurnDocument>, isComplete: boolean): Run {
  const { turnId, attempts } = lease.document;
  const stop = new AbortController();
  lease.signal.addEventListener('abort', () => stop.abort(lease.signal.reason), { once: true });
  const from = (attempts - 1) * FRAMES_OF_A_RUN;
  const pieces: number[] = [];
  const onPiece = (text: string): void => void pieces.push(text.length);
  const voice = { tenant: lease.tenant, turnId, from, fence: lease.fence, isLeaseHeld: () => !lease.signal.aborted, onPiece };
  const frames = createFrameWriter(deps, voice);
  // Readers discard the text of the previous run and continue here.
  if (attempts > 1) frames.push({ type: 'resumed', text: '' });
  return { lease, frames, whole: isComplete, stop, text: '', pieces };
}

async function play(deps: IdempotentTurnRunsDeps, run: Run, turn: ReturnType<typeof runStateless>): Promise<void> {
  try {
    const result = await follow(run, turn);
    await finish(deps, run, result);
  } catch (error) {
    const { signal } = run.stop;
    const cause: unknown = signal.aborted ? signal.reason : error;
    if (isResponse(run) && !run.lease.document.toolsCalled && isStopping(cause)) return await run.lease.release();
    await end(deps, run, { error: toServiceError(cause), free: false });
  } finally {
    run.frames.close();
  }
}

async function follow(run: Run, turn: ReturnType<typeof runStateless>): Promise<StatelessResult> {
  for (;;) {
    const step = await turn.next();
    if (step.done) return step.value;
    if (step.value.type !== 'done') await publishFrame(run, step.value);
  }
}

/** Adds a text piece. */
function addFrame(run: Run, { n: _n, ...frame }: TurnFrame): void {
  if (frame.type === 'delta') run.text += frame.text;
  if (!run.whole) run.frames.push(frame);
}

/** Stores that a tool was called before the call is published. */
async function publishFrame({ lease, frames, ...run }: Run, { n: _n, ...frame }: TurnFrame): Promise<void> {
  if (frame.type === 'tool' && frame.state === 'called' && !lease.document.toolsCalled) await lease.write({ set: { toolsCalled: true } });
  if (!run.whole || frame.type === 'accepted' || frame.type === 'tool') frames.push(frame);
}

/** Stores the answer before its end is published. Retried, so that a short database outage does not lose it. */
async function finish(deps: IdempotentTurnRunsDeps, run: Run, result: StatelessResult): Promise<void> {
  const { kept, bodies, clock } = deps;
  const { lease, frames, text } = run;
  const { key, turnId, forgetAt } = lease.document;
  const lastFrame = frames.last();
  const mine = bodies.for(lease);
  await persist(clock, async () => {
    const answer = await storeExpiringText(mine, { turnId, text: JSON.stringify(result), forgetAt });
    const more = text === result.response ? {} : { text: await storeExpiringText(mine, { turnId, text, forgetAt }) };
    const sent = await responseFields(deps, run);
    try {
      await lease.finish('done', { answer, ...more, ...sent, lastFrame });
      countStorage(deps, run, { answer, ...more, ...sent });
    } catch (error) {
      // The write was applied before and only its reply was lost.
      const existing = await kept.for(lease).get(key);
      if (existing?.fence !== lease.fence || existing.state !== 'done') throw error;
    }
  });
  frames.end({ type: 'done', result });
}

/** Fields for replaying a response, with its text if it failed. */
async function responseFields({ bodies, store }: IdempotentTurnRunsDeps, run: Run, failed = false): Promise<Partial<KeyedTurnDocument>> {
  if (!isResponse(run)) return {};
  const { lease, text, pieces } = run;
  const { turnId, forgetAt } = lease.document;
  const mine = bodies.for(lease);
  return {
    endedAt: store.now(),
    pieces: await storeExpiringText(mine, { turnId, text: JSON.stringify(pieces), forgetAt }),
    ...(failed && text !== '' ? { text: await storeExpiringText(mine, { turnId, text, forgetAt }) } : {}),
  };
}

/** Counts the texts that a turn has stored at its end. */
function countStorage({ storage }: IdempotentTurnRunsDeps, run: Run, texts: Partial<KeyedTurnDocument>): void {
  const { tenant, document } = run.lease;
  storage?.add({ tenant, client: document.client }, countTextBytes(texts));
}

/** Ends a turn without an answer. A retryable turn releases its key. */
async function end(deps: IdempotentTurnRunsDeps, run: Run, { error, free }: { error: ServiceError; free: boolean }): Promise<void> {
  const { clock, log } = deps;
  const { lease, frames } = run;
  const { turnId, toolsCalled } = lease.document;
  const lastFrame = frames.last();
  // Another lease holder or a cancellation decides how the turn ends.
  if (run.stop.signal.aborted && isCancelled(run.stop.signal.reason)) return;
  if (lease.signal.aborted)
    return log.warn({ turnId, err: error, errorKind: 'internal', hint: 'another replica runs the turn' }, 'turn fenced');
  const retryable = error.retryable && !toolsCalled;
  const failure: TurnFailure = { code: error.code, message: error.message, details: { ...error.details, turnId, retryable } };
  try {
    let texts: Partial<KeyedTurnDocument> = {};
    await persist(clock, async () => {
      texts = await responseFields(deps, run, true);
      await lease.finish('failed', { failure, ...texts, lastFrame });
      countStorage(deps, run, texts);
    });
    if (free || (retryable && !isResponse(run)))
      await removeKeyedTurn(deps, lease.tenant, { ...lease.document, ...texts, fence: lease.fence });
  } catch (err) {
    log.warn({ turnId, err, errorKind: 'dependency', hint: 'the turn ends when its lease expires' }, 'failed to write the end of a turn');
  }
  frames.end({ type: 'error', error: failure });
}

/** A response keeps its failure. Other retryable turns leave nothing behind. */
function isResponse({ lease }: Run): boolean {
  return lease.document.request !== undefined;
}

/** Returns whether a key can be reused: it expired, or its turn failed without calling tools. */
export function isKeyFree(turn: KeyedTurnDocument, now: number): boolean {
  if (!hasEnded(turn)) return turn.forgetAt <= now && turn.leaseUntil <= now;
  return turn.forgetAt <= now || turn.failure?.details?.['retryable'] === true;
}

function isCancelled(cause: unknown): boolean {
  return cause instanceof ServiceError && cause.details.reason === turnCancelled().details.reason;
}

/** A shutdown hands over turns that can be restarted. */
function isStopping(cause: unknown): boolean {
  return cause instanceof ServiceError && cause.details.reason === SHUTTING_DOWN;
}

/** The runner died. Its tool calls have an unknown outcome and are not repeated. */
export function turnInterrupted({ toolsCalled, turnId }: Pick<KeyedTurnDocument, 'toolsCalled' | 'turnId'>): ServiceError {
  const message = toolsCalled
    ? 'The turn was interrupted after a tool call; the outcome of the call is unknown.'
    : 'The turn was interrupted. Retry the request.';
  return new ServiceError('UNAVAILABLE', message, { details: { reason: 'INTERRUPTED', turnId, retryable: !toolsCalled } });
}

function shuttingDown(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'The process that ran the turn is shutting down. Retry the request.', {
    details: { reason: SHUTTING_DOWN },
  });
}

function toServiceError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError('INTERNAL', 'Internal error', { cause: error });
}
