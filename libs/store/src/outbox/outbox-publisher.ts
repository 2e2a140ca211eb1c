import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import type { Publish, StoreLog } from '../port/store.ts';

/** Lease TTL. After it another replica may publish the document's events. */
export const LEASE_MS = 5_000;
/** Publishing does not start with less than this left of the lease. */
export const MIN_REMAINING_LEASE_MS = 2_500;

export interface PendingEvent {
  /** Increases with each event of a document. */
  seq: number;
  id: string;
  tenant: string;
  name: string;
  /** JSON. */
  payload: string;
}

/** The pending events of one document, in order. */
export interface PendingEvents {
  document: string;
  events: readonly PendingEvent[];
}

/** The events that a write has stored. */
export interface RecordedEvents extends PendingEvents {
  /** The document has no other pending events. */
  isComplete: boolean;
}

/** Storage of pending events in an adapter. Each document with pending events has one lease. */
export interface OutboxStorage {
  /** The adapter passes all events that it stores to `offer`, so the publisher need not poll for them. */
  readonly announcesWrites?: true;
  /** Leases documents with pending events: at most `limit`, none of `except`. */
  acquire(limit: number, except: ReadonlySet<string>): Promise<PendingEvents[]>;
  /** Renews leases. Returns the documents whose lease is lost. */
  renew(documents: readonly string[]): Promise<string[]>;
  /** Removes the events up to `seq`. Returns events that were stored meanwhile; null if there are none or the lease is lost. */
  complete(document: string, seq: number): Promise<PendingEvents | null>;
  /** Moves an event that cannot be published out of the outbox. */
  reject(document: string, seq: number): Promise<void>;
  /** Releases the lease after a delay that grows with each failure. */
  postpone(document: string): Promise<void>;
  /** Releases all leases of this store. */
  releaseAll(): Promise<void>;
}

/** Publishes pending events: in order per document, many documents concurrently. */
export interface OutboxPublisher {
  /** Polls the storage for pending events. */
  wake(): void;
  /** Publishes events that this store has just written. */
  offer(owed: RecordedEvents): void;
  publishTo(publish: Publish): void;
  /** Publishes pending events for at most `graceMs`, then releases all leases. */
  close(graceMs: number): Promise<void>;
  /** Number of documents whose events are being published. */
  readonly size: number;
}

const MAX_CONCURRENT_DOCUMENTS = 100;
const POLL_INTERVAL_MS = 1_000;
const FIRST_RETRY_DELAY_MS = 100;

/** The run that publishes the events of one document. */
interface DocumentRun {
  startedTick: number;
}

interface State {
  storage: OutboxStorage;
  log: StoreLog | undefined;
  publish: Publish | undefined;
  /** By document. A run that ends late must not remove its successor. */
  activeDocuments: Map<string, DocumentRun>;
  activeRuns: Set<Promise<void>>;
  ticks: number;
  polling: Promise<void> | undefined;
  /** `wake` was called while polling, or polling stopped at the concurrency limit. */
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

/** Complete events need not be read again. The active run of a document finds events that arrive meanwhile. */
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
      // The document may have new events.
      if (state.pollAgain || !state.storage.announcesWrites) wake(state);
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

/** Publishes events sequentially to keep their order. Stops if another replica has the lease. */
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
      'moved an event that cannot be published out of the outbox',
    );
    await state.storage.reject(document, seq);
  }
  return undefined;
}

/** Pauses all publishing, because a failure usually means that the bus is down. */
function pauseAfterFailure(state: State, failure: Error): void {
  if (state.stopped || Date.now() < state.pausedUntil) return;
  state.failures += 1;
  const { failures } = state;
  state.log?.warn(
    { err: failure, failures, errorKind: 'dependency', hint: 'events are stored and retried' },
    'failed to publish events; retrying',
  );
  const pauseMs = computeRetryDelay(failures);
  state.pausedUntil = Date.now() + pauseMs;
  setTimeout(() => wake(state), pauseMs + 1).unref();
}

/** Exponential backoff with jitter between half and all of the delay. */
export function computeRetryDelay(failures: number): number {
  return Math.ceil(Math.min(LEASE_MS, FIRST_RETRY_DELAY_MS * 2 ** Math.min(failures - 1, 10)) * (0.5 + Math.random() / 2));
}

/** Renews the leases of long runs and polls for events that other replicas left. */
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

/** Publishes until no events are left or one fails. */
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
  if (!stopped) log?.error({ err: error, errorKind: 'resource', hint: 'retried in a second' }, 'failed to access the outbox');
}

/** A permanently rejected event would block all later events of its document. */
function isPermanentError(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'INVALID_ARGUMENT' || error.code === 'FAILED_PRECONDITION');
}
