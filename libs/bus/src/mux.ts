import type { ServiceError } from '@switchyard/contracts';
import { busClosed } from './failures.ts';
import { createSlots } from './slots.ts';
import type { Message, Transport } from './transport.ts';

/** How late a deadline may be noticed. One timer serves all of them. */
const TICK_MS = 20;

/** The part of the inbox that answers come to. */
export const REPLIES = 'r';

/** One call that waits. No promise, signal or error exists until it is needed. */
export interface Waiting {
  onMessage(message: Message): void;
  /** Called when the time is up. More than 0 prolongs the wait by so many milliseconds. */
  moreMs?(): number;
  /** The time is up. The call is forgotten already. */
  onDeadline(): void;
  /** The bus closes, is closed already, or lost the other side. The call is forgotten already. */
  onLost(error: ServiceError): void;
}

export interface Mux {
  /** Begins to wait; the id is what `address` turns into the reply subject. */
  open(waiting: Waiting, timeoutMs: number): number;
  /** It ends in the name of who is asked, so that the network can let nobody else answer. */
  address(id: number, answerer?: string): string;
  /** Forgets a call; what still arrives for it is dropped. False if it was forgotten before. */
  close(id: number): boolean;
  /** Ends everything that waits; what comes later waits again. */
  lose(error: ServiceError): void;
  /** Ends everything that waits, and the sweep. */
  end(): void;
  ended(): boolean;
  /** How many calls wait. */
  readonly size: number;
}

/** Matches replies to calls: one wildcard inbox, one table, one sweep for all deadlines. */
export function createMux(transport: Pick<Transport, 'inbox' | 'subscribe'>, name = REPLIES): Mux {
  const prefix = `${transport.inbox}.${name}.`;
  const waiting = createSlots<Waiting>();
  const sweep = createSweep(expire, () => waiting.size === 0);
  let over = false;

  const inbox = transport.subscribe(`${prefix}>`, (message) => {
    waiting.get(Number.parseInt(message.subject.slice(prefix.length), 36))?.onMessage(message);
  });

  function expire(id: number): void {
    const call = waiting.get(id);
    if (call === undefined) return;
    const moreMs = call.moreMs?.() ?? 0;
    if (moreMs > 0) return sweep.add(id, moreMs);
    waiting.remove(id);
    call.onDeadline();
  }

  function lose(error: ServiceError): void {
    for (const call of waiting.clear()) call.onLost(error);
  }

  return {
    open(call, timeoutMs) {
      const id = waiting.add(call);
      sweep.add(id, timeoutMs);
      return id;
    },
    address: (id, answerer) => (answerer === undefined ? prefix + id.toString(36) : `${prefix}${id.toString(36)}.${answerer}`),
    close: (id) => waiting.remove(id) !== undefined,
    lose,
    end() {
      over = true;
      sweep.stop();
      inbox.unsubscribe();
      lose(busClosed());
    },
    ended: () => over,
    get size() {
      return waiting.size;
    },
  };
}

interface Sweep {
  add(id: number, timeoutMs: number): void;
  stop(): void;
}

/** The id of an answered call stays in its bucket until the bucket is due: removing it would cost more than its few bytes. */
function createSweep(onDue: (id: number) => void, isIdle: () => boolean): Sweep {
  const buckets = new Map<number, number[]>();
  let timer: NodeJS.Timeout | undefined;
  let swept = 0;

  function sweep(): void {
    const now = ticks(0);
    while (swept < now) {
      const due = buckets.get(++swept);
      if (due === undefined) continue;
      buckets.delete(swept);
      due.forEach(onDue);
    }
    if (isIdle()) stop();
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
    buckets.clear();
  }

  return {
    add(id, timeoutMs) {
      if (timer === undefined) {
        swept = ticks(0);
        timer = setInterval(sweep, TICK_MS);
      }
      const tick = ticks(timeoutMs) + 1;
      const bucket = buckets.get(tick);
      if (bucket === undefined) buckets.set(tick, [id]);
      else bucket.push(id);
    },
    stop,
  };
}

function ticks(fromNowMs: number): number {
  return Math.floor((performance.now() + fromNowMs) / TICK_MS);
}
