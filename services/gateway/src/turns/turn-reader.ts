import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus, Message } from '@switchyard/bus';
import { ServiceError, subjects, TURNS_LOG, type ErrorCode, type Result, type TurnFrame } from '@switchyard/contracts';
import { createFrameGapError, createSilentTurnError, createNotFollowedError } from './turn-errors.ts';
import { createFrameOrder } from './frame-order.ts';

/** Silence after which the status of a turn is requested. A running turn sends `alive` every ten seconds. */
const SILENCE_TIMEOUT_MS = 30_000;
/** Frames buffered before read. Further frames are read from the log later. */
const MAX_HELD_FRAMES = 4_096;
/** Status requests to replace frames that the log has lost. A turn stores its text every second. */
const MAX_STATUS_ATTEMPTS = 4;
/** Outage of the bus or the sessions service after which the reader gives up. The turn may continue. */
const OUTAGE_TIMEOUT_MS = 60_000;
/** Codes of a temporary outage. */
export const UNAVAILABLE_CODES: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED']);
const STORE_INTERVAL_MS = 1_000;

export type TurnStatus = Result<'turns.resume'>;

/** Receives the frames of a turn. No call follows the batch with the last frame, or `lost`. */
export interface TurnListener {
  /** Called with at least one frame, in order from number 0, without duplicates. */
  frames(frames: readonly TurnFrame[]): void;
  /** Called when the turn cannot be followed any longer. The turn may continue. */
  lost(error: ServiceError): void;
}

/** Follows one turn on any replica. Closing the reader does not stop the turn. */
export interface TurnReader {
  /** Starts with the first frame. With the status of an earlier turn, frames of the log come first. */
  read(listener: TurnListener, status?: TurnStatus): void;
  close(): void;
}

export interface TurnReaderOptions {
  /** Calls as the client of the turn. */
  bus: Bus;
  turnId: string;
  /** Whether a retry of the request returns to this turn. */
  repeatable: boolean;
  silenceMs?: number;
  /** Interval at which the turn document stores new text. */
  storeIntervalMs?: number;
  outageTimeoutMs?: number;
}

/** Subscribes at once, so that no frame of a turn started next is missed. Delivers nothing before `read`. */
export function openTurnReader({
  bus,
  turnId,
  repeatable,
  silenceMs = SILENCE_TIMEOUT_MS,
  storeIntervalMs = STORE_INTERVAL_MS,
  outageTimeoutMs = OUTAGE_TIMEOUT_MS,
}: TurnReaderOptions): TurnReader {
  const order = createFrameOrder();
  const subject = subjects.turn(turnId);
  let listener: TurnListener | undefined;
  let isFilling = false;
  let closed = false;
  let lastFrameAt = performance.now();
  let silenceTimer: NodeJS.Timeout | undefined;
  const subscription = bus.subscribe(subject, onMessage);

  function onMessage({ data }: Message): void {
    lastFrameAt = performance.now();
    const isBuffering = listener === undefined || isFilling;
    if (isBuffering && order.bufferedCount >= MAX_HELD_FRAMES) return;
    order.add(decode(data));
    if (!isBuffering) advance();
  }

  function advance(): void {
    deliver();
    if (!closed && order.bufferedCount > 0) void catchUp();
  }

  function deliver(): void {
    const ready = order.take();
    if (ready.length === 0) return;
    if (ready.some(isResultOmitted)) return void deliverStoredResult(ready);
    if (ready.some(isEnd)) close();
    listener?.frames(ready);
  }

  /** Reads a result that is too long for a frame from the turn document, which is written before the frame is sent. */
  async function deliverStoredResult(ready: readonly TurnFrame[]): Promise<void> {
    const before = ready.filter((frame) => !isResultOmitted(frame));
    if (before.length > 0) listener?.frames(before);
    try {
      deliverEnd(await bus.call('turns.resume', { turnId }));
    } catch (error) {
      fail(error);
    }
  }

  /** Reads missing frames from the log while that makes progress. For an ended turn the turn document replaces missing frames. */
  async function catchUp(status?: TurnStatus): Promise<void> {
    isFilling = true;
    try {
      let hasMore = true;
      while (hasMore) hasMore = await readLog();
      if (closed) return;
      if (status && hasEnded(status)) deliverEnd(status);
      else if (order.bufferedCount > 0) await continueFromStatus();
    } catch (error) {
      if (status && hasEnded(status)) deliverEnd(status);
      else fail(error);
    } finally {
      isFilling = false;
    }
  }

  /** Retries while the bus or the sessions service is unavailable, because the turn continues in the meantime. */
  async function retryDuringOutage<T>(read: () => Promise<T>): Promise<T> {
    for (const deadline = performance.now() + outageTimeoutMs; ; await sleep(storeIntervalMs)) {
      try {
        return await read();
      } catch (error) {
        const isUnavailable = error instanceof ServiceError && UNAVAILABLE_CODES.has(error.code);
        if (!isUnavailable || closed || performance.now() >= deadline) throw error;
      }
    }
  }

  /** Returns true when frames were found and others are still missing. */
  async function readLog(): Promise<boolean> {
    const before = order.next;
    const entries = await retryDuringOutage(async () => (await bus.log(TURNS_LOG)).read(subject));
    for (const entry of entries) order.add(decode(entry.data));
    if (!closed) deliver();
    return order.bufferedCount > 0 && order.next > before;
  }

  /** Replaces frames that the log has lost by the stored text, which is at most a second old. */
  async function continueFromStatus(): Promise<void> {
    for (let tries = 0; tries < MAX_STATUS_ATTEMPTS && !closed; tries += 1) {
      if (tries > 0) await sleep(storeIntervalMs);
      const status = await retryDuringOutage(() => bus.call('turns.resume', { turnId }));
      if (closed) return;
      if (hasEnded(status)) return deliverEnd(status);
      if (status.soFar && order.skipTo(status.soFar)) deliver();
      if (closed || order.bufferedCount === 0) return;
    }
    fail(createFrameGapError(turnId));
  }

  function deliverEnd(status: TurnStatus): void {
    if (closed) return;
    close();
    const n = status.lastFrame ?? order.next;
    // Deliver the missing text in one frame.
    const missingText = order.next < n ? status.soFar?.text : undefined;
    listener?.frames([
      ...(missingText === undefined ? [] : [{ n: n - 1, type: 'resumed', text: missingText } as const]),
      createEndFrame(status, n),
    ]);
  }

  function fail(error: unknown): void {
    if (closed) return;
    close();
    const serviceError = error instanceof ServiceError ? error : new ServiceError('INTERNAL', 'Internal error', { cause: error });
    listener?.lost(createNotFollowedError(serviceError, { turnId, repeatable }));
  }

  function watch(): void {
    const remaining = lastFrameAt + silenceMs - performance.now();
    if (remaining <= 0) void checkStatus();
    else silenceTimer = setTimeout(watch, remaining).unref();
  }

  /** Requests the status after silence: frames may be lost, and a queued, merged or parked turn sends none. */
  async function checkStatus(): Promise<void> {
    try {
      const status = await retryDuringOutage(() => bus.call('turns.resume', { turnId }));
      if (closed) return;
      if (hasEnded(status)) return await catchUp(status);
      const shouldSend = status.state === 'running' && status.heardBy === undefined && status.waitsForApproval !== true;
      if (shouldSend && performance.now() - lastFrameAt >= silenceMs) return fail(createSilentTurnError(turnId));
    } catch (error) {
      return fail(error);
    }
    lastFrameAt = performance.now();
    watch();
  }

  function close(): void {
    closed = true;
    clearTimeout(silenceTimer);
    subscription.unsubscribe();
  }

  return {
    read(turnListener, status) {
      listener = turnListener;
      watch();
      if (status) void catchUp(status);
      else advance();
    },
    close,
  };
}

function decode(data: Uint8Array): TurnFrame {
  return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString()) as TurnFrame;
}

function isEnd({ type }: TurnFrame): boolean {
  return type === 'done' || type === 'error';
}

/** Whether a final frame omits the result. */
function isResultOmitted(frame: TurnFrame): boolean {
  return frame.type === 'done' && frame.whole === false;
}

/** Whether a turn has ended. */
export function hasEnded({ state }: Pick<TurnStatus, 'state'>): boolean {
  return state !== 'queued' && state !== 'running';
}

function createEndFrame({ result, failure }: TurnStatus, n: number): TurnFrame {
  if (result) return { n, type: 'done', result };
  return { n, type: 'error', error: failure ?? { code: 'UNKNOWN', message: 'The turn ended without a result or an error.' } };
}
