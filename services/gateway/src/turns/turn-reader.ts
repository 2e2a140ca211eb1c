import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus, Message } from '@switchyard/bus';
import { ServiceError, subjects, TURNS_LOG, type ErrorCode, type Result, type TurnFrame } from '@switchyard/contracts';
import { createFrameGapError, createSilentTurnError, createNotFollowedError } from './turn-errors.ts';
import { createFrameOrder } from './frame-order.ts';

/** How long a turn may say nothing at all before it is asked for; a running one says `alive` every ten seconds. */
const SILENCE_TIMEOUT_MS = 30_000;
/** Frames kept while nobody takes them. What comes beyond is read from the log later. */
const MAX_HELD_FRAMES = 4_096;
/** How often the document of a turn is asked for what the log has lost: what a turn says is kept each second. */
const MAX_STATUS_ATTEMPTS = 4;
/** How long the bus, or every service behind it, may be away before a turn is given up that goes on without them. */
const OUTAGE_TIMEOUT_MS = 60_000;
/** Codes that say that somebody is away who will be back. */
export const UNAVAILABLE_CODES: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED']);
const STORE_INTERVAL_MS = 1_000;

export type TurnStatus = Result<'turns.resume'>;

/** Gets the frames of a turn. Nothing more is called after the batch with the last frame, or after `lost`. */
export interface TurnListener {
  /** In order from number 0, each once, never none. */
  frames(frames: readonly TurnFrame[]): void;
  /** The turn cannot be followed any further; it may well go on. */
  lost(error: ServiceError): void;
}

/** Follows one turn from wherever it runs. Closing stops the reading, never the turn. */
export interface TurnReader {
  /** Begins with the first frame. With a status, of a turn that began earlier: what the log has kept comes first. */
  read(listener: TurnListener, status?: TurnStatus): void;
  close(): void;
}

export interface TurnReaderOptions {
  /** Speaks for the client whose turn it is. */
  bus: Bus;
  turnId: string;
  /** Whether the client that makes its request again comes back to this turn. */
  repeatable: boolean;
  silenceMs?: number;
  /** How long to wait for what is said now to be kept in the turn's document. */
  storeIntervalMs?: number;
  outageTimeoutMs?: number;
}

/** Listens from now on, so that a turn started next is heard whole; hands nothing over until it is read. */
export function openTurnReader({
  bus,
  turnId,
  repeatable,
  silenceMs = SILENCE_TIMEOUT_MS,
  storeIntervalMs: keptMs = STORE_INTERVAL_MS,
  outageTimeoutMs: patienceMs = OUTAGE_TIMEOUT_MS,
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
    if (isBuffering && order.waiting >= MAX_HELD_FRAMES) return;
    order.add(decode(data));
    if (!isBuffering) advance();
  }

  function advance(): void {
    deliver();
    if (!closed && order.waiting > 0) void catchUp();
  }

  function deliver(): void {
    const ready = order.take();
    if (ready.length === 0) return;
    if (ready.some(isResultOmitted)) return void deliverStoredResult(ready);
    if (ready.some(isEnd)) close();
    listener?.frames(ready);
  }

  /** An answer that is too long for a frame stands in the turn's document, which was written before the frame was said. */
  async function deliverStoredResult(ready: readonly TurnFrame[]): Promise<void> {
    const before = ready.filter((frame) => !isResultOmitted(frame));
    if (before.length > 0) listener?.frames(before);
    try {
      deliverEnd(await bus.call('turns.resume', { turnId }));
    } catch (error) {
      fail(error);
    }
  }

  /** Fills what is missing from the log, as long as that helps; an ended turn is told from its document if it does not. */
  async function catchUp(status?: TurnStatus): Promise<void> {
    isFilling = true;
    try {
      let more = true;
      while (more) more = await readLog();
      if (closed) return;
      if (status && hasEnded(status)) deliverEnd(status);
      else if (order.waiting > 0) await continueFromStatus();
    } catch (error) {
      if (status && hasEnded(status)) deliverEnd(status);
      else fail(error);
    } finally {
      isFilling = false;
    }
  }

  /** What carries the answer, or who knows of it, may be away for a while: the turn goes on meanwhile, and so does the waiting. */
  async function retryDuringOutage<T>(read: () => Promise<T>): Promise<T> {
    for (const deadline = performance.now() + patienceMs; ; await sleep(keptMs)) {
      try {
        return await read();
      } catch (error) {
        const isUnavailable = error instanceof ServiceError && UNAVAILABLE_CODES.has(error.code);
        if (!isUnavailable || closed || performance.now() >= deadline) throw error;
      }
    }
  }

  /** Whether that helped, and did not help enough. */
  async function readLog(): Promise<boolean> {
    const before = order.next;
    const entries = await retryDuringOutage(async () => (await bus.log(TURNS_LOG)).read(subject));
    for (const entry of entries) order.add(decode(entry.data));
    if (!closed) deliver();
    return order.waiting > 0 && order.next > before;
  }

  /** The log has lost what is missing; the turn's document has kept what was said, as of a second ago. */
  async function continueFromStatus(): Promise<void> {
    for (let tries = 0; tries < MAX_STATUS_ATTEMPTS && !closed; tries += 1) {
      if (tries > 0) await sleep(keptMs);
      const status = await retryDuringOutage(() => bus.call('turns.resume', { turnId }));
      if (closed) return;
      if (hasEnded(status)) return deliverEnd(status);
      if (status.soFar && order.skipTo(status.soFar)) deliver();
      if (closed || order.waiting === 0) return;
    }
    fail(createFrameGapError(turnId));
  }

  function deliverEnd(status: TurnStatus): void {
    if (closed) return;
    close();
    const n = status.lastFrame ?? order.next;
    // What was not heard of it is told at once.
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
    const left = lastFrameAt + silenceMs - performance.now();
    if (left <= 0) void checkStatus();
    else silenceTimer = setTimeout(watch, left).unref();
  }

  /** Frames may be lost with whoever carried them, and a turn that waits, or that another one has heard, has none: its owner knows. */
  async function checkStatus(): Promise<void> {
    try {
      const status = await retryDuringOutage(() => bus.call('turns.resume', { turnId }));
      if (closed) return;
      if (hasEnded(status)) return await catchUp(status);
      const shouldSend = status.state === 'running' && status.heardBy === undefined;
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
    read(to, status) {
      listener = to;
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

/** Whether it says that the turn has ended, and not with what. */
function isResultOmitted(frame: TurnFrame): boolean {
  return frame.type === 'done' && frame.whole === false;
}

/** Whether nothing more will come of a turn. */
export function hasEnded({ state }: Pick<TurnStatus, 'state'>): boolean {
  return state !== 'queued' && state !== 'running';
}

function createEndFrame({ result, failure }: TurnStatus, n: number): TurnFrame {
  if (result) return { n, type: 'done', result };
  return { n, type: 'error', error: failure ?? { code: 'UNKNOWN', message: 'The turn ended, and nothing says how.' } };
}
