import type { ServiceError } from '@switchyard/contracts';
import { busClosedError } from './errors.ts';
import { createIdTable } from './id-table.ts';
import type { Message, Transport } from './transport.ts';

/** Resolution of deadlines. One timer serves all of them. */
const SWEEP_INTERVAL_MS = 20;
/** A sweep that runs this much later than planned shows that the process was paused or its event loop blocked. */
const MIN_PAUSE_MS = 100;
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
  open(pending: PendingReply, timeoutMs: number, responder?: string): number;
  formatReplySubject(id: number, responder?: string): string;
  /** Removes a call. Later messages for it are dropped. Returns false if it was removed before. */
  close(id: number): boolean;
  /** Removes a call after its last reply. No further message can arrive, so its reply subject may be reused. */
  complete(id: number): boolean;
  /** Fails all pending calls. New calls are still accepted. */
  failAll(error: ServiceError): void;
  /** Fails all pending calls and stops the timer. */
  shutDown(): void;
  isShutDown(): boolean;
  /**
   * Milliseconds by a clock that stops while this process is paused or its event loop is blocked. Messages arrive in that time but are not
   * read, so that the silence of a service is measured by this clock.
   */
  activeMs(): number;
  /** Number of pending calls. */
  readonly size: number;
}

/** A reply subject and the call that currently uses it. */
interface Slot {
  id: number;
  responder: string | undefined;
  address: string;
  /** Undefined while the slot is free. */
  pending: PendingReply | undefined;
  /** By `performance.now()`. */
  deadline: number;
  /** Tick of the next deadline check; 0 if none is scheduled. */
  dueTick: number;
}

/** Matches replies to pending calls with one wildcard subscription, one table and one timer for all deadlines. */
export function createMux(transport: Pick<Transport, 'inbox' | 'subscribe'>, name = REPLY_TOKEN): Mux {
  const prefix = `${transport.inbox}.${name}.`;
  const slots = createIdTable<Slot>();
  const sweep = createSweep(expire, () => used === 0);
  let freeSlots: Slot[] = [];
  let used = 0;
  let stopped = false;

  const inbox = transport.subscribe(`${prefix}>`, (message) => {
    const slot = slots.get(Number.parseInt(message.subject.slice(prefix.length), 36));
    if (slot?.address === message.subject) slot.pending?.onMessage(message);
  });

  const formatAddress = (id: number, responder: string | undefined): string =>
    responder === undefined ? prefix + id.toString(36) : `${prefix}${id.toString(36)}.${responder}`;

  function createSlot(): Slot {
    const slot: Slot = { id: 0, responder: undefined, address: '', pending: undefined, deadline: 0, dueTick: 0 };
    slot.id = slots.add(slot);
    return slot;
  }

  /** Frees a slot and returns its pending call, if there was one. */
  function release(slot: Slot | undefined, reuse: boolean): PendingReply | undefined {
    const pending = slot?.pending;
    if (slot === undefined || pending === undefined) return undefined;
    slot.pending = undefined;
    used--;
    if (reuse && freeSlots.length < MAX_FREE_SLOTS) freeSlots.push(slot);
    else slots.remove(slot.id);
    return pending;
  }

  function expire(slot: Slot): void {
    if (slot.pending === undefined) return;
    const remaining = slot.deadline - performance.now();
    const moreMs = remaining > 0 ? remaining : (slot.pending.extendMs?.() ?? 0);
    if (moreMs > 0) return sweep.add(slot, performance.now() + moreMs);
    release(slot, false)?.onDeadline();
  }

  function failAll(error: ServiceError): void {
    const lost = slots.clear().map((slot) => release(slot, false));
    freeSlots = [];
    for (const pending of lost) pending?.onLost(error);
  }

  return {
    open(pending, timeoutMs, responder) {
      const slot = freeSlots.pop() ?? createSlot();
      if (slot.address === '' || slot.responder !== responder) {
        slot.responder = responder;
        slot.address = formatAddress(slot.id, responder);
      }
      slot.pending = pending;
      slot.deadline = performance.now() + timeoutMs;
      used++;
      sweep.add(slot, slot.deadline);
      return slot.id;
    },
    formatReplySubject(id, responder) {
      const slot = slots.get(id);
      return slot?.responder === responder && slot !== undefined ? slot.address : formatAddress(id, responder);
    },
    close: (id) => release(slots.get(id), false) !== undefined,
    complete: (id) => release(slots.get(id), true) !== undefined,
    failAll,
    shutDown() {
      stopped = true;
      sweep.stop();
      inbox.unsubscribe();
      failAll(busClosedError());
    },
    isShutDown: () => stopped,
    activeMs: () => performance.now() - sweep.pausedMs(),
    get size() {
      return used;
    },
  };
}

interface Sweep {
  /** Schedules a check of the slot at `until` (`performance.now()`) or earlier. */
  add(slot: Slot, deadline: number): void;
  stop(): void;
  /** Sum of the pauses of this process while calls were pending. */
  pausedMs(): number;
}

/** Checks each slot at most once per tick, however many calls used it. A free slot stays scheduled until its tick. */
function createSweep(onDue: (slot: Slot) => void, isIdle: () => boolean): Sweep {
  const buckets = new Map<number, Slot[]>();
  let timer: NodeJS.Timeout | undefined;
  let lastTick = 0;
  let sweptAt = 0;
  let pausedMs = 0;

  /** Returns the length of the pause since the last sweep, or 0. */
  function getPause(now: number): number {
    const lateMs = timer === undefined ? 0 : now - sweptAt - SWEEP_INTERVAL_MS;
    return lateMs < MIN_PAUSE_MS ? 0 : lateMs;
  }

  function sweep(): void {
    const sweepAt = performance.now();
    pausedMs += getPause(sweepAt);
    sweptAt = sweepAt;
    const now = toTick(sweepAt);
    while (lastTick < now) {
      const dueSlots = buckets.get(++lastTick);
      if (dueSlots === undefined) continue;
      buckets.delete(lastTick);
      for (const slot of dueSlots) checkSlot(slot, lastTick);
    }
    if (isIdle()) stop();
  }

  function checkSlot(slot: Slot, tick: number): void {
    if (slot.dueTick !== tick) return; // checked earlier
    slot.dueTick = 0;
    onDue(slot);
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
    for (const slots of buckets.values()) for (const slot of slots) slot.dueTick = 0;
    buckets.clear();
  }

  return {
    add(slot, deadline) {
      if (timer === undefined) {
        sweptAt = performance.now();
        lastTick = toTick(sweptAt);
        timer = setInterval(sweep, SWEEP_INTERVAL_MS);
      }
      const tick = toTick(deadline) + 1;
      if (slot.dueTick !== 0 && slot.dueTick <= tick) return;
      slot.dueTick = tick;
      const bucket = buckets.get(tick);
      if (bucket === undefined) buckets.set(tick, [slot]);
      else bucket.push(slot);
    },
    stop,
    pausedMs: () => pausedMs + getPause(performance.now()),
  };
}

function toTick(ms: number): number {
  return Math.floor(ms / SWEEP_INTERVAL_MS);
}
