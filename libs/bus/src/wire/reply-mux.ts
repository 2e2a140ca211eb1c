import type { ServiceError } from '@switchyard/contracts';
import { busClosedError } from './errors.ts';
import { createIdTable } from './id-table.ts';
import type { Message, Transport } from './transport.ts';

/** Resolution of deadlines. One timer serves all of them. */
const SWEEP_INTERVAL_MS = 20;
/** Reply subjects kept for reuse. nats-server caches subject lookups, so a reused subject is routed about three times faster. */
const MAX_FREE_SLOTS = 256;

/** Token of the inbox that receives replies. */
export const REPLY_TOKEN = 'r';

/** A pending call. Promises, signals and errors are created only when needed. */
export interface PendingReply {
  onMessage(message: Message): void;
  /** Called at the deadline. A result above 0 extends it by that many milliseconds. */
  extendMs?(): number;
  /** The deadline has passed. The call is already removed. */
  onDeadline(): void;
  /** The bus was closed or lost its connection. The call is already removed. */
  onLost(error: ServiceError): void;
}

export interface Mux {
  /**
   * Registers a pending call and returns its id for `formatReplySubject`. The reply subject ends in the name of the responder, and NATS
   * permissions let no other service publish to it. Messages on another subject are ignored.
   */
  open(waiting: PendingReply, timeoutMs: number, answerer?: string): number;
  formatReplySubject(id: number, answerer?: string): string;
  /** Removes a call. Later messages for it are dropped. Returns false if it was removed before. */
  close(id: number): boolean;
  /** Removes a call after its last reply. No further message can arrive, so its reply subject may be reused. */
  complete(id: number): boolean;
  /** Fails all pending calls. New calls are still accepted. */
  failAll(error: ServiceError): void;
  /** Fails all pending calls and stops the timer. */
  shutDown(): void;
  isShutDown(): boolean;
  /** Number of pending calls. */
  readonly size: number;
}

/** A reply subject and the call that currently uses it. */
interface Slot {
  id: number;
  answerer: string | undefined;
  address: string;
  /** Undefined while the slot is free. */
  waiting: PendingReply | undefined;
  /** By `performance.now()`. */
  until: number;
  /** Tick of the next deadline check; 0 if none is scheduled. */
  due: number;
}

/** Matches replies to pending calls with one wildcard subscription, one table and one timer for all deadlines. */
export function createMux(transport: Pick<Transport, 'inbox' | 'subscribe'>, name = REPLY_TOKEN): Mux {
  const prefix = `${transport.inbox}.${name}.`;
  const seats = createIdTable<Slot>();
  const sweep = createSweep(expire, () => taken === 0);
  let free: Slot[] = [];
  let taken = 0;
  let over = false;

  const inbox = transport.subscribe(`${prefix}>`, (message) => {
    const seat = seats.get(Number.parseInt(message.subject.slice(prefix.length), 36));
    if (seat?.address === message.subject) seat.waiting?.onMessage(message);
  });

  const addressOf = (id: number, answerer: string | undefined): string =>
    answerer === undefined ? prefix + id.toString(36) : `${prefix}${id.toString(36)}.${answerer}`;

  function createSlot(): Slot {
    const seat: Slot = { id: 0, answerer: undefined, address: '', waiting: undefined, until: 0, due: 0 };
    seat.id = seats.add(seat);
    return seat;
  }

  /** Frees a slot and returns its pending call, if there was one. */
  function leave(seat: Slot | undefined, reuse: boolean): PendingReply | undefined {
    const waiting = seat?.waiting;
    if (seat === undefined || waiting === undefined) return undefined;
    seat.waiting = undefined;
    taken--;
    if (reuse && free.length < MAX_FREE_SLOTS) free.push(seat);
    else seats.remove(seat.id);
    return waiting;
  }

  function expire(seat: Slot): void {
    if (seat.waiting === undefined) return;
    const left = seat.until - performance.now();
    const moreMs = left > 0 ? left : (seat.waiting.extendMs?.() ?? 0);
    if (moreMs > 0) return sweep.add(seat, performance.now() + moreMs);
    leave(seat, false)?.onDeadline();
  }

  function lose(error: ServiceError): void {
    const lost = seats.clear().map((seat) => leave(seat, false));
    free = [];
    for (const waiting of lost) waiting?.onLost(error);
  }

  return {
    open(waiting, timeoutMs, answerer) {
      const seat = free.pop() ?? createSlot();
      if (seat.address === '' || seat.answerer !== answerer) {
        seat.answerer = answerer;
        seat.address = addressOf(seat.id, answerer);
      }
      seat.waiting = waiting;
      seat.until = performance.now() + timeoutMs;
      taken++;
      sweep.add(seat, seat.until);
      return seat.id;
    },
    formatReplySubject(id, answerer) {
      const seat = seats.get(id);
      return seat?.answerer === answerer && seat !== undefined ? seat.address : addressOf(id, answerer);
    },
    close: (id) => leave(seats.get(id), false) !== undefined,
    complete: (id) => leave(seats.get(id), true) !== undefined,
    failAll: lose,
    shutDown() {
      over = true;
      sweep.stop();
      inbox.unsubscribe();
      lose(busClosedError());
    },
    isShutDown: () => over,
    get size() {
      return taken;
    },
  };
}

interface Sweep {
  /** Schedules a check of the slot at `until` (`performance.now()`) or earlier. */
  add(seat: Slot, until: number): void;
  stop(): void;
}

/** Checks each slot at most once per tick, however many calls used it. A free slot stays scheduled until its tick. */
function createSweep(onDue: (seat: Slot) => void, isIdle: () => boolean): Sweep {
  const buckets = new Map<number, Slot[]>();
  let timer: NodeJS.Timeout | undefined;
  let swept = 0;

  function sweep(): void {
    const now = tickOf(performance.now());
    while (swept < now) {
      const due = buckets.get(++swept);
      if (due === undefined) continue;
      buckets.delete(swept);
      for (const seat of due) look(seat, swept);
    }
    if (isIdle()) stop();
  }

  function look(seat: Slot, tick: number): void {
    if (seat.due !== tick) return; // checked earlier
    seat.due = 0;
    onDue(seat);
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
    for (const seats of buckets.values()) for (const seat of seats) seat.due = 0;
    buckets.clear();
  }

  return {
    add(seat, until) {
      if (timer === undefined) {
        swept = tickOf(performance.now());
        timer = setInterval(sweep, SWEEP_INTERVAL_MS);
      }
      const tick = tickOf(until) + 1;
      if (seat.due !== 0 && seat.due <= tick) return;
      seat.due = tick;
      const bucket = buckets.get(tick);
      if (bucket === undefined) buckets.set(tick, [seat]);
      else bucket.push(seat);
    },
    stop,
  };
}

function tickOf(ms: number): number {
  return Math.floor(ms / SWEEP_INTERVAL_MS);
}
