import {
  ServiceError,
  type KeyedTurn,
  type StatelessResult,
  type StatelessTurn,
  type TurnFailure,
  type TurnFrame,
} from '@switchyard/contracts';
import type { Bus, Ctx } from '@switchyard/bus';
import type { Clock } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { Lease, Outcome } from '@switchyard/work';
import type { KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import { storeExpiringText } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { turnTimedOut, turnCancelled } from '../turns/store/turn-errors.ts';
import { isFenced } from '../turns/store/turn-store.ts';
import { createFrameWriter, type FrameWriter } from '../frames/frame-publisher.ts';
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

/** A turn to run, and its caller. */
export interface RequestedRun {
  request: IdempotentRequest;
  caller: TurnCaller;
  /** Resolved once the turn has started; rejected if it is refused. Its key is then free. */
  started: PromiseWithResolvers<void>;
}

type RunOutcome = Outcome<KeyedTurnDocument>;

/** Runs turns under a lease. The outcomes notify the readers of a turn when its end is stored. */
export interface IdempotentTurnRuns {
  run(lease: Lease<KeyedTurnDocument>, requested: RequestedRun): Promise<RunOutcome>;
  /** Ends a turn that cannot start, and notifies its caller. */
  refuse(lease: Lease<KeyedTurnDocument>, requested: RequestedRun, error: ServiceError): Promise<RunOutcome>;
  /** Ends a turn that is not run any more. */
  fail(lease: Lease<KeyedTurnDocument>, error: ServiceError): Promise<RunOutcome>;
  /** Stops the turns that still run after this time, for a shutdown. */
  stopAfter(ms: number): Disposable;
}

/** Distance between the frame numbers of two runs. */
const FRAMES_OF_A_RUN = 1_000_000;
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
  const running = new Set<Run>();

  /** Runs a turn whose first frame was published. */
  async function runToEnd(run: Run, turn: ReturnType<typeof runStateless>): Promise<RunOutcome> {
    const forgetRun = deps.runs.add(run.lease.document.turnId, () => run.stop.abort(turnCancelled()));
    const late = deps.clock.after(deps.turnDeadlineMs, () => run.stop.abort(turnTimedOut(deps.turnDeadlineMs)));
    running.add(run);
    try {
      return await play(deps, run, turn);
    } finally {
      late();
      forgetRun();
      running.delete(run);
    }
  }

  return {
    async run(lease, { request, caller, started }) {
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
      } catch (cause) {
        const error = toTurnError(lease, cause);
        const free = lease.fence === 1 || !isResponse(run);
        return end(deps, run, { error, free, onEnd: () => started.reject(error) });
      }
      started.resolve();
      return runToEnd(run, turn);
    },
    refuse: (lease, { started }, error) =>
      end(deps, createRun(deps, lease, true), { error, free: true, onEnd: () => started.reject(error) }),
    fail: (lease, error) => end(deps, createRun(deps, lease, true), { error, free: false }),
    stopAfter(ms) {
      const cancel = deps.clock.after(ms, () => {
        for (const run of running) run.stop.abort(shuttingDown());
      });
      return { [Symbol.dispose]: cancel };
    },
  };
}

function createRun(deps: IdempotentTurnRunsDeps, lease: Lease<KeyedTurnDocument>, isComplete: boolean): Run {
  const { turnId } = lease.document;
  const { fence, tenant } = lease;
  const stop = new AbortController();
  lease.signal.addEventListener('abort', () => stop.abort(lease.signal.reason), { once: true });
  const from = (fence - 1) * FRAMES_OF_A_RUN;
  const pieces: number[] = [];
  const onPiece = (text: string): void => void pieces.push(text.length);
  const frames = createFrameWriter(deps, { tenant, turnId, from, fence, isLeaseHeld: () => lease.isHeld(), onPiece });
  // Readers discard the text of the previous run and continue here.
  if (fence > 1) frames.push({ type: 'resumed', text: '' });
  return { lease, frames, whole: isComplete, stop, text: '', pieces };
}

async function play(deps: IdempotentTurnRunsDeps, run: Run, turn: ReturnType<typeof runStateless>): Promise<RunOutcome> {
  try {
    return await finish(deps, run, await follow(run, turn));
  } catch (error) {
    const { signal } = run.stop;
    const cause: unknown = signal.aborted ? signal.reason : error;
    if (!isResponse(run) || run.lease.document.toolsCalled || !(isStopping(cause) || isFenced(cause)))
      return end(deps, run, { error: toTurnError(run.lease, cause), free: false });
    run.frames.close();
    // After a takeover this write misses, and the other replica goes on.
    return { retryAt: deps.store.now(), onSettled: (isWritten) => (isWritten ? undefined : logFenced(deps, run)) };
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

/** Stores the texts of the answer. Its end is published when the turn has ended. */
async function finish(deps: IdempotentTurnRunsDeps, run: Run, result: StatelessResult): Promise<RunOutcome> {
  const { lease, frames, text } = run;
  const { turnId, forgetAt } = lease.document;
  const lastFrame = frames.last();
  const mine = deps.bodies.for(lease);
  const texts = await lease.persist(async () => {
    const answer = await storeExpiringText(mine, { turnId, text: JSON.stringify(result), forgetAt });
    const more = text === result.response ? {} : { text: await storeExpiringText(mine, { turnId, text, forgetAt }) };
    return { answer, ...more, ...(await responseFields(deps, run)) };
  });
  return {
    end: 'done',
    set: { ...texts, lastFrame },
    onSettled(isWritten) {
      if (isWritten) {
        countStorage(deps, run, texts);
        frames.end({ type: 'done', result });
      } else logFenced(deps, run);
      frames.close();
    },
  };
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

interface EndOptions {
  error: ServiceError;
  /** Whether the key is free again, also after a failure that a repetition does not remove. */
  free: boolean;
  /** Called after the key was released. */
  onEnd?: () => void;
}

/** Ends a turn without an answer. A retryable turn releases its key. */
async function end(deps: IdempotentTurnRunsDeps, run: Run, { error, free, onEnd }: EndOptions): Promise<RunOutcome> {
  const { lease, frames } = run;
  const { document, tenant, fence } = lease;
  const { turnId, toolsCalled } = document;
  const lastFrame = frames.last();
  if (run.stop.signal.aborted && isCancelled(run.stop.signal.reason)) {
    frames.close();
    return { end: 'cancelled' };
  }
  const retryable = error.retryable && !toolsCalled;
  const failure: TurnFailure = { code: error.code, message: error.message, details: { ...error.details, turnId, retryable } };
  const texts = await lease.persist(() => responseFields(deps, run, true));
  return {
    end: 'failed',
    set: { failure, ...texts, lastFrame },
    async onSettled(isWritten) {
      try {
        if (!isWritten) return logFenced(deps, run, error);
        countStorage(deps, run, texts);
        if (free || (retryable && !isResponse(run))) await removeKeyedTurn(deps, tenant, { ...document, ...texts, fence });
      } finally {
        if (isWritten) frames.end({ type: 'error', error: failure });
        frames.close();
        onEnd?.();
      }
    },
  };
}

function logFenced({ log }: IdempotentTurnRunsDeps, { lease }: Run, err?: ServiceError): void {
  const { turnId } = lease.document;
  log.warn({ turnId, ...(err ? { err } : {}), errorKind: 'internal', hint: 'another replica runs the turn' }, 'turn fenced');
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

/**
 * Returns the error that the client of a turn gets. A busy process gives its lease up by its own clock although no replica has taken the
 * turn over, so that the lost lease is the failure that the client sees.
 */
export function toTurnError({ document }: Pick<Lease<KeyedTurnDocument>, 'document'>, error: unknown): ServiceError {
  if (isFenced(error)) return turnInterrupted(document);
  return error instanceof ServiceError ? error : new ServiceError('INTERNAL', 'Internal error', { cause: error });
}
