import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import type { Publish, StoreLog } from '../port/store.ts';

/** So long holds a claim; after it anybody may take over. */
export const LEASE_MS = 5_000;
/** Nothing is begun under a claim that has less left than this. */
export const MIN_REMAINING_LEASE_MS = 2_500;

export interface PendingEvent {
  /** Grows with each event of a document. */
  seq: number;
  id: string;
  tenant: string;
  name: string;
  /** JSON. */
  payload: string;
}

/** What one document owes, in order. */
export interface PendingEvents {
  document: string;
  events: readonly PendingEvent[];
}

/** What a write has just recorded. */
export interface RecordedEvents extends PendingEvents {
  /** The document owes nothing else. */
  isComplete: boolean;
}

/** Where an adapter keeps what is owed, and who is about to publish it: one claim for each document. */
export interface OutboxStorage {
  /** All that this store records is offered to the publisher, which need not look for it. */
  readonly announcesWrites?: true;
  /** Documents whose events are this store's to publish, with nobody else's claim on them from now on; at most so many, none of `except`. */
  acquire(limit: number, except: ReadonlySet<string>): Promise<PendingEvents[]>;
  /** Holds these claims for another while; gives those that are lost. */
  renew(documents: readonly string[]): Promise<string[]>;
  /** The events up to `seq` are published elsewhere. Gives what came meanwhile; null when nothing is owed, or the claim is lost. */
  complete(document: string, seq: number): Promise<PendingEvents | null>;
  /** This event will never be published. */
  reject(document: string, seq: number): Promise<void>;
  /** For whoever comes first, not before a pause that grows with each time. */
  postpone(document: string): Promise<void>;
  /** Gives up every claim of this store. */
  releaseAll(): Promise<void>;
}

/** Pays what documents owe: the events of one in order, many documents at once. */
export interface OutboxPublisher {
  /** There may be something to publish. */
  wake(): void;
  /** This is to be published, and nobody else's. */
  offer(owed: RecordedEvents): void;
  publishTo(publish: Publish): void;
  /** Publishes what is owed, no longer than this, and leaves the rest to others. */
  close(graceMs: number): Promise<void>;
  /** The documents whose events are being published. */
  readonly size: number;
}

const MAX_CONCURRENT_DOCUMENTS = 100;
const POLL_INTERVAL_MS = 1_000;
const FIRST_RETRY_DELAY_MS = 100;

/** One document whose events are being published. */
interface DocumentRun {
  /** The tick it began in. */
  startedTick: number;
}

interface State {
  storage: OutboxStorage;
  log: StoreLog | undefined;
  publish: Publish | undefined;
  /** By document. One that ended late must not end the one that came after it. */
  activeDocuments: Map<string, DocumentRun>;
  activeRuns: Set<Promise<void>>;
  ticks: number;
  polling: Promise<void> | undefined;
  /** Somebody woke the pump while it ran, or it left something for want of room. */
  pollAgain: boolean;
  failures: number;
  pausedUntil: number;
  stopped: boolean;
}

export function createOutboxPublisher(storage: OutboxStorage, log: StoreLog | undefined): OutboxPublisher {
  const state: State = {
    storage,
    log,
    publish: undefined,
    activeDocuments: new Map(),
    activeRuns: new Set(),
    ticks: 0,
    polling: undefined,
    pollAgain: false,
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
      timer ??= setInterval(() => tick(state), POLL_INTERVAL_MS).unref();
      wake(state);
    },
    async close(graceMs) {
      Object.assign(state, { pausedUntil: 0, failures: 0 });
      const grace = new AbortController();
      await Promise.race([drain(state), wait(graceMs, undefined, { signal: grace.signal }).catch(() => undefined)]);
      grace.abort();
      clearInterval(timer);
      state.stopped = true;
      await storage.releaseAll().catch((error: unknown) => logStorageError(state, error));
    },
    get size() {
      return state.activeDocuments.size;
    },
  };
}

function wake(state: State): void {
  state.pollAgain = true;
  if (state.publish === undefined || isPaused(state)) return;
  state.polling ??= poll(state, state.publish)
    .catch((error: unknown) => logStorageError(state, error))
    .finally(() => (state.polling = undefined));
}

/** What is whole need not be read again. What came while its document was busy is found by whoever is busy with it. */
function offer(state: State, { isComplete: whole, ...pending }: RecordedEvents): void {
  const { publish, activeDocuments: underWay } = state;
  if (underWay.has(pending.document)) state.pollAgain ||= whole;
  else if (whole && publish && !isPaused(state) && underWay.size < MAX_CONCURRENT_DOCUMENTS) startRun(state, publish, pending);
  else wake(state);
}

function isPaused({ stopped, pausedUntil }: State): boolean {
  return stopped || Date.now() < pausedUntil;
}

async function poll(state: State, publish: Publish): Promise<void> {
  while (state.pollAgain && !isPaused(state)) {
    const room = MAX_CONCURRENT_DOCUMENTS - state.activeDocuments.size;
    if (room === 0) return;
    state.pollAgain = false;
    const acquired = await state.storage.acquire(room, new Set(state.activeDocuments.keys()));
    if (acquired.length === room) state.pollAgain = true;
    for (const pending of acquired) if (!state.activeDocuments.has(pending.document)) startRun(state, publish, pending);
  }
}

function startRun(state: State, publish: Publish, pending: PendingEvents): void {
  const run: DocumentRun = { startedTick: state.ticks };
  state.activeDocuments.set(pending.document, run);
  const publishing = publishDocument(state, { publish, run, first: pending })
    .catch((error: unknown) => logStorageError(state, error))
    .finally(() => {
      endRun(state, pending.document, run);
      state.activeRuns.delete(publishing);
      if (state.pollAgain || !state.storage.announcesWrites) wake(state); // its document may owe again
    });
  state.activeRuns.add(publishing);
}

function endRun({ activeDocuments: underWay }: State, document: string, run: DocumentRun): void {
  if (underWay.get(document) === run) underWay.delete(document);
}

interface PublishOptions {
  publish: Publish;
  run: DocumentRun;
  first: PendingEvents;
}

/** One after the other, so that no event of a document overtakes another. Ends early where somebody else took over. */
async function publishDocument(state: State, { publish, run, first }: PublishOptions): Promise<void> {
  for (let pending: PendingEvents | null = first; pending !== null;) {
    const { document, events }: PendingEvents = pending;
    let published = 0;
    for (const event of events) {
      if (state.stopped || state.activeDocuments.get(document) !== run) return;
      const failure = await publishEvent(state, publish, document, event);
      if (failure !== undefined) {
        if (published > 0) await state.storage.complete(document, published);
        await state.storage.postpone(document);
        pauseAfterFailure(state, failure);
        return;
      }
      published = event.seq;
    }
    state.failures = 0;
    pending = await state.storage.complete(document, published);
  }
}

async function publishEvent(state: State, publish: Publish, document: string, event: PendingEvent): Promise<Error | undefined> {
  const { seq, id, name, tenant, payload } = event;
  try {
    await publish({ id, name, payload: JSON.parse(payload), tenant });
  } catch (error) {
    if (!isPermanentError(error)) return error instanceof Error ? error : new Error('no reason given', { cause: error });
    state.log?.error(
      { err: error, event: name, id, errorKind: 'internal', hint: 'its payload does not fit its contract' },
      'event set aside',
    );
    await state.storage.reject(document, seq);
  }
  return undefined;
}

/** What fails for one mostly fails for all: everything waits a little, so that a bus that is gone is not hammered. */
function pauseAfterFailure(state: State, failure: Error): void {
  if (state.stopped || Date.now() < state.pausedUntil) return;
  state.failures += 1;
  const { failures } = state;
  state.log?.warn({ err: failure, failures, errorKind: 'dependency', hint: 'they are kept and tried again' }, 'events not published');
  const pauseMs = computeRetryDelay(failures);
  state.pausedUntil = Date.now() + pauseMs;
  setTimeout(() => wake(state), pauseMs + 1).unref();
}

/** Between half of it and all of it, so that replicas do not come at once. */
export function computeRetryDelay(failures: number): number {
  return Math.ceil(Math.min(LEASE_MS, FIRST_RETRY_DELAY_MS * 2 ** Math.min(failures - 1, 10)) * (0.5 + Math.random() / 2));
}

/** Keeps what takes long, and looks for what others left. */
function tick(state: State): void {
  state.ticks += 1;
  const long = new Map([...state.activeDocuments].filter(([, { startedTick: since }]) => since < state.ticks));
  if (long.size > 0) {
    const lose = (document: string): void => {
      const run = long.get(document);
      if (run !== undefined) endRun(state, document, run);
    };
    state.storage.renew([...long.keys()]).then(
      (lost) => lost.forEach(lose),
      (error: unknown) => logStorageError(state, error),
    );
  }
  wake(state);
}

/** Until nothing is left, or something fails. */
async function drain(state: State): Promise<void> {
  while (state.publish !== undefined && state.failures === 0 && !state.stopped) {
    wake(state);
    await state.polling;
    if (state.activeRuns.size > 0) await Promise.race(state.activeRuns);
    else if (!state.pollAgain) return;
  }
  await Promise.all(state.activeRuns);
}

function logStorageError({ log, stopped }: State, error: unknown): void {
  if (!stopped)
    log?.error({ err: error, errorKind: 'resource', hint: 'they are looked for again in a second' }, 'owed events not readable');
}

/** Whether publishing it again would fail again: such an event would hold up all later ones of its document for ever. */
function isPermanentError(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'INVALID_ARGUMENT' || error.code === 'FAILED_PRECONDITION');
}
