import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus, Message } from '@switchyard/bus';
import { ServiceError, subjects, TURNS_LOG, type ErrorCode, type Result, type TurnFrame } from '@switchyard/contracts';
import { frameGap, turnSilent, unfollowed } from './turn-errors.ts';
import { createFrameOrder } from './frame-order.ts';

/** How long a turn may say nothing at all before it is asked for; a running one says `alive` every ten seconds. */
const SILENCE_MS = 30_000;
/** Frames kept while nobody takes them. What comes beyond is read from the log later. */
const MAX_HELD = 4_096;
/** How often the document of a turn is asked for what the log has lost: what a turn says is kept each second. */
const KEPT_TRIES = 4;
/** How long the bus, or every service behind it, may be away before a turn is given up that goes on without them. */
const PATIENCE_MS = 60_000;
/** Codes that say that somebody is away who will be back. */
export const AWAY: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED']);
const KEPT_MS = 1_000;

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
  keptMs?: number;
  patienceMs?: number;
}

/** Listens from now on, so that a turn started next is heard whole; hands nothing over until it is read. */
export function openTurnReader({
  bus,
  turnId,
  repeatable,
  silenceMs = SILENCE_MS,
  keptMs = KEPT_MS,
  patienceMs = PATIENCE_MS,
}: TurnReaderOptions): TurnReader {
  const order = createFrameOrder();
  const subject = subjects.turn(turnId);
  let listener: TurnListener | undefined;
  let filling = false;
  let over = false;
  let heardAt = performance.now();
  let silence: NodeJS.Timeout | undefined;
  const subscription = bus.subscribe(subject, hear);

  function hear({ data }: Message): void {
    heardAt = performance.now();
    const later = listener === undefined || filling;
    if (later && order.waiting >= MAX_HELD) return;
    order.add(decode(data));
    if (!later) advance();
  }

  function advance(): void {
    deliver();
    if (!over && order.waiting > 0) void catchUp();
  }

  function deliver(): void {
    const ready = order.take();
    if (ready.length === 0) return;
    if (ready.some(isCut)) return void deliverCut(ready);
    if (ready.some(isEnd)) close();
    listener?.frames(ready);
  }

  /** An answer that is too long for a frame stands in the turn's document, which was written before the frame was said. */
  async function deliverCut(ready: readonly TurnFrame[]): Promise<void> {
    const before = ready.filter((frame) => !isCut(frame));
    if (before.length > 0) listener?.frames(before);
    try {
      conclude(await bus.call('turns.resume', { turnId }));
    } catch (error) {
      lose(error);
    }
  }

  /** Fills what is missing from the log, as long as that helps; an ended turn is told from its document if it does not. */
  async function catchUp(status?: TurnStatus): Promise<void> {
    filling = true;
    try {
      let more = true;
      while (more) more = await fill();
      if (over) return;
      if (status && hasEnded(status)) conclude(status);
      else if (order.waiting > 0) await goOn();
    } catch (error) {
      if (status && hasEnded(status)) conclude(status);
      else lose(error);
    } finally {
      filling = false;
    }
  }

  /** What carries the answer, or who knows of it, may be away for a while: the turn goes on meanwhile, and so does the waiting. */
  async function patiently<T>(read: () => Promise<T>): Promise<T> {
    for (const until = performance.now() + patienceMs; ; await sleep(keptMs)) {
      try {
        return await read();
      } catch (error) {
        const away = error instanceof ServiceError && AWAY.has(error.code);
        if (!away || over || performance.now() >= until) throw error;
      }
    }
  }

  /** Whether that helped, and did not help enough. */
  async function fill(): Promise<boolean> {
    const before = order.next;
    const entries = await patiently(async () => (await bus.log(TURNS_LOG)).read(subject));
    for (const entry of entries) order.add(decode(entry.data));
    if (!over) deliver();
    return order.waiting > 0 && order.next > before;
  }

  /** The log has lost what is missing; the turn's document has kept what was said, as of a second ago. */
  async function goOn(): Promise<void> {
    for (let tries = 0; tries < KEPT_TRIES && !over; tries += 1) {
      if (tries > 0) await sleep(keptMs);
      const status = await patiently(() => bus.call('turns.resume', { turnId }));
      if (over) return;
      if (hasEnded(status)) return conclude(status);
      if (status.soFar && order.jump(status.soFar)) deliver();
      if (over || order.waiting === 0) return;
    }
    lose(frameGap(turnId));
  }

  function conclude(status: TurnStatus): void {
    if (over) return;
    close();
    const n = status.lastFrame ?? order.next;
    // What was not heard of it is told at once.
    const said = order.next < n ? status.soFar?.text : undefined;
    listener?.frames([...(said === undefined ? [] : [{ n: n - 1, type: 'resumed', text: said } as const]), endOf(status, n)]);
  }

  function lose(error: unknown): void {
    if (over) return;
    close();
    const known = error instanceof ServiceError ? error : new ServiceError('INTERNAL', 'Internal error', { cause: error });
    listener?.lost(unfollowed(known, { turnId, repeatable }));
  }

  function watch(): void {
    const left = heardAt + silenceMs - performance.now();
    if (left <= 0) void askAfter();
    else silence = setTimeout(watch, left).unref();
  }

  /** Frames may be lost with whoever carried them, and a turn that waits, or that another one has heard, has none: its owner knows. */
  async function askAfter(): Promise<void> {
    try {
      const status = await patiently(() => bus.call('turns.resume', { turnId }));
      if (over) return;
      if (hasEnded(status)) return await catchUp(status);
      const speaks = status.state === 'running' && status.heardBy === undefined;
      if (speaks && performance.now() - heardAt >= silenceMs) return lose(turnSilent(turnId));
    } catch (error) {
      return lose(error);
    }
    heardAt = performance.now();
    watch();
  }

  function close(): void {
    over = true;
    clearTimeout(silence);
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
function isCut(frame: TurnFrame): boolean {
  return frame.type === 'done' && frame.whole === false;
}

/** Whether nothing more will come of a turn. */
export function hasEnded({ state }: Pick<TurnStatus, 'state'>): boolean {
  return state !== 'queued' && state !== 'running';
}

function endOf({ result, failure }: TurnStatus, n: number): TurnFrame {
  if (result) return { n, type: 'done', result };
  return { n, type: 'error', error: failure ?? { code: 'UNKNOWN', message: 'The turn ended, and nothing says how.' } };
}
