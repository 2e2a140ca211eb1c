import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import type { Publish, StoreLog } from '../port/store.ts';

/** So long holds a claim; after it anybody may take over. */
export const CLAIM_MS = 5_000;
/** Nothing is begun under a claim that has less left than this. */
export const CLAIM_MARGIN_MS = 2_500;

export interface OwedEvent {
  /** Grows with each event of a document. */
  seq: number;
  id: string;
  tenant: string;
  name: string;
  /** JSON. */
  payload: string;
}

/** What one document owes, in order. */
export interface Debt {
  document: string;
  events: readonly OwedEvent[];
}

/** What a write has just recorded. */
export interface Owed extends Debt {
  /** The document owes nothing else. */
  whole: boolean;
}

/** Where an adapter keeps what is owed, and who is about to publish it: one claim for each document. */
export interface Ledger {
  /** All that this store records is offered to the publisher, which need not look for it. */
  readonly offers?: true;
  /** Documents whose events are this store's to publish, with nobody else's claim on them from now on; at most so many, none of `except`. */
  take(limit: number, except: ReadonlySet<string>): Promise<Debt[]>;
  /** Holds these claims for another while; gives those that are lost. */
  renew(documents: readonly string[]): Promise<string[]>;
  /** The events up to `seq` are held elsewhere. Gives what came meanwhile; null when nothing is owed, or the claim is lost. */
  settle(document: string, seq: number): Promise<Debt | null>;
  /** This event will never be published. */
  setAside(document: string, seq: number): Promise<void>;
  /** For whoever comes first, not before a pause that grows with each time. */
  putOff(document: string): Promise<void>;
  /** Gives up every claim of this store. */
  release(): Promise<void>;
}

/** Pays what documents owe: the events of one in order, many documents at once. */
export interface Publisher {
  /** There may be something to publish. */
  wake(): void;
  /** This is to be published, and nobody else's. */
  offer(owed: Owed): void;
  publishTo(publish: Publish): void;
  /** Publishes what is owed, no longer than this, and leaves the rest to others. */
  close(graceMs: number): Promise<void>;
  /** The documents whose events are being published. */
  readonly size: number;
}

const AT_ONCE = 100;
const TICK_MS = 1_000;
const FIRST_PAUSE_MS = 100;

/** One document whose events are being published. */
interface Lane {
  /** The tick it began in. */
  since: number;
}

interface State {
  ledger: Ledger;
  log: StoreLog | undefined;
  publish: Publish | undefined;
  /** By document. One that ended late must not end the one that came after it. */
  underWay: Map<string, Lane>;
  lanes: Set<Promise<void>>;
  ticks: number;
  pumping: Promise<void> | undefined;
  /** Somebody woke the pump while it ran, or it left something for want of room. */
  again: boolean;
  failures: number;
  pausedUntil: number;
  stopped: boolean;
}

export function createPublisher(ledger: Ledger, log: StoreLog | undefined): Publisher {
  const state: State = {
    ledger,
    log,
    publish: undefined,
    underWay: new Map(),
    lanes: new Set(),
    ticks: 0,
    pumping: undefined,
    again: false,
    failures: 0,
    pausedUntil: 0,
    stopped: false,
  };
  let timer: NodeJS.Timeout | undefined;

  return {
    wake: () => wake(state),
    offer: (owed) => offer(state, owed),
    publishTo(publish) {
      state.publish = publish;
      timer ??= setInterval(() => tick(state), TICK_MS).unref();
      wake(state);
    },
    async close(graceMs) {
      Object.assign(state, { pausedUntil: 0, failures: 0 });
      const grace = new AbortController();
      await Promise.race([drain(state), wait(graceMs, undefined, { signal: grace.signal }).catch(() => undefined)]);
      grace.abort();
      clearInterval(timer);
      state.stopped = true;
      await ledger.release().catch((error: unknown) => troubled(state, error));
    },
    get size() {
      return state.underWay.size;
    },
  };
}

function wake(state: State): void {
  state.again = true;
  if (state.publish === undefined || isResting(state)) return;
  state.pumping ??= pump(state, state.publish)
    .catch((error: unknown) => troubled(state, error))
    .finally(() => (state.pumping = undefined));
}

/** What is whole need not be read again. What came while its document was busy is found by whoever is busy with it. */
function offer(state: State, { whole, ...debt }: Owed): void {
  const { publish, underWay } = state;
  if (underWay.has(debt.document)) state.again ||= whole;
  else if (whole && publish && !isResting(state) && underWay.size < AT_ONCE) begin(state, publish, debt);
  else wake(state);
}

function isResting({ stopped, pausedUntil }: State): boolean {
  return stopped || Date.now() < pausedUntil;
}

async function pump(state: State, publish: Publish): Promise<void> {
  while (state.again && !isResting(state)) {
    const room = AT_ONCE - state.underWay.size;
    if (room === 0) return;
    state.again = false;
    const debts = await state.ledger.take(room, new Set(state.underWay.keys()));
    if (debts.length === room) state.again = true;
    for (const debt of debts) if (!state.underWay.has(debt.document)) begin(state, publish, debt);
  }
}

function begin(state: State, publish: Publish, debt: Debt): void {
  const lane: Lane = { since: state.ticks };
  state.underWay.set(debt.document, lane);
  const paying = pay(state, { publish, lane, first: debt })
    .catch((error: unknown) => troubled(state, error))
    .finally(() => {
      leave(state, debt.document, lane);
      state.lanes.delete(paying);
      if (state.again || !state.ledger.offers) wake(state); // its document may owe again
    });
  state.lanes.add(paying);
}

function leave({ underWay }: State, document: string, lane: Lane): void {
  if (underWay.get(document) === lane) underWay.delete(document);
}

interface Payment {
  publish: Publish;
  lane: Lane;
  first: Debt;
}

/** One after the other, so that no event of a document overtakes another. Ends early where somebody else took over. */
async function pay(state: State, { publish, lane, first }: Payment): Promise<void> {
  for (let debt: Debt | null = first; debt !== null;) {
    const { document, events }: Debt = debt;
    let held = 0;
    for (const event of events) {
      if (state.stopped || state.underWay.get(document) !== lane) return;
      const failure = await attempt(state, publish, document, event);
      if (failure !== undefined) {
        if (held > 0) await state.ledger.settle(document, held);
        await state.ledger.putOff(document);
        pause(state, failure);
        return;
      }
      held = event.seq;
    }
    state.failures = 0;
    debt = await state.ledger.settle(document, held);
  }
}

async function attempt(state: State, publish: Publish, document: string, event: OwedEvent): Promise<Error | undefined> {
  const { seq, id, name, tenant, payload } = event;
  try {
    await publish({ id, name, payload: JSON.parse(payload), tenant });
  } catch (error) {
    if (!isHopeless(error)) return error instanceof Error ? error : new Error('no reason given', { cause: error });
    state.log?.error(
      { err: error, event: name, id, errorKind: 'internal', hint: 'its payload does not fit its contract' },
      'event set aside',
    );
    await state.ledger.setAside(document, seq);
  }
  return undefined;
}

/** What fails for one mostly fails for all: everything waits a little, so that a bus that is gone is not hammered. */
function pause(state: State, failure: Error): void {
  if (state.stopped || Date.now() < state.pausedUntil) return;
  state.failures += 1;
  const { failures } = state;
  state.log?.warn({ err: failure, failures, errorKind: 'dependency', hint: 'they are kept and tried again' }, 'events not published');
  const pauseMs = pauseAfter(failures);
  state.pausedUntil = Date.now() + pauseMs;
  setTimeout(() => wake(state), pauseMs + 1).unref();
}

/** Between half of it and all of it, so that replicas do not come at once. */
export function pauseAfter(failures: number): number {
  return Math.ceil(Math.min(CLAIM_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10)) * (0.5 + Math.random() / 2));
}

/** Keeps what takes long, and looks for what others left. */
function tick(state: State): void {
  state.ticks += 1;
  const long = new Map([...state.underWay].filter(([, { since }]) => since < state.ticks));
  if (long.size > 0) {
    const lose = (document: string): void => {
      const lane = long.get(document);
      if (lane !== undefined) leave(state, document, lane);
    };
    state.ledger.renew([...long.keys()]).then(
      (lost) => lost.forEach(lose),
      (error: unknown) => troubled(state, error),
    );
  }
  wake(state);
}

/** Until nothing is left, or something fails. */
async function drain(state: State): Promise<void> {
  while (state.publish !== undefined && state.failures === 0 && !state.stopped) {
    wake(state);
    await state.pumping;
    if (state.lanes.size > 0) await Promise.race(state.lanes);
    else if (!state.again) return;
  }
  await Promise.all(state.lanes);
}

function troubled({ log, stopped }: State, error: unknown): void {
  if (!stopped)
    log?.error({ err: error, errorKind: 'resource', hint: 'they are looked for again in a second' }, 'owed events not readable');
}

/** Whether publishing it again would fail again: such an event would hold up all later ones of its document for ever. */
function isHopeless(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'INVALID_ARGUMENT' || error.code === 'FAILED_PRECONDITION');
}
