import type { ServiceError } from '@switchyard/contracts';
import { busClosedError } from './errors.ts';
import { createIdTable } from './id-table.ts';
import type { Message, Transport } from './transport.ts';

/** How late a deadline may be noticed. One timer serves all of them. */
const SWEEP_INTERVAL_MS = 20;
/** So many addresses are kept to be used again: a broker finds who listens to one it has seen in a third of the time. */
const MAX_FREE_SLOTS = 256;

/** The part of the inbox that answers come to. */
export const REPLY_TOKEN = 'r';

/** One call that waits. No promise, signal or error exists until it is needed. */
export interface PendingReply {
  onMessage(message: Message): void;
  /** Called when the time is up. More than 0 prolongs the wait by so many milliseconds. */
  extendMs?(): number;
  /** The time is up. The call is forgotten already. */
  onDeadline(): void;
  /** The bus closes, is closed already, or lost the other side. The call is forgotten already. */
  onLost(error: ServiceError): void;
}

export interface Mux {
  /**
   * Begins to wait; the id is what `address` turns into the reply subject. What comes on another subject is not heard: an address ends
   * in the name of who is asked, so that the network lets nobody else answer.
   */
  open(waiting: PendingReply, timeoutMs: number, answerer?: string): number;
  formatReplySubject(id: number, answerer?: string): string;
  /** Forgets a call; what still arrives for it is dropped, however late. False if it was forgotten before. */
  close(id: number): boolean;
  /** Forgets a call whose last answer came, so that nothing more can arrive for it: its address may be another call's now. */
  complete(id: number): boolean;
  /** Ends everything that waits; what comes later waits again. */
  failAll(error: ServiceError): void;
  /** Ends everything that waits, and the sweep. */
  shutDown(): void;
  isShutDown(): boolean;
  /** How many calls wait. */
  readonly size: number;
}

/** Where calls wait, one after another. */
interface Slot {
  id: number;
  answerer: string | undefined;
  address: string;
  /** Nobody, while it is free. */
  waiting: PendingReply | undefined;
  /** By `performance.now()`. */
  until: number;
  /** When it is looked at next, in ticks; 0 for never. */
  due: number;
}

/** Matches replies to calls: one wildcard inbox, one table, one sweep for all deadlines. */
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

  /** Who waited there; undefined if nobody did. */
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
  /** Looks at a seat once `until` is over, by `performance.now()`, or before that. */
  add(seat: Slot, until: number): void;
  stop(): void;
}

/** A seat is looked at no more than once for all who waited there meanwhile; one that is free stays until it is due. */
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
    if (seat.due !== tick) return; // it was looked at earlier
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
