import type { DatabaseSync } from 'node:sqlite';
import { ServiceError } from '@switchyard/contracts';
import { storeClosed } from './database.ts';
import { captureError, type LogSync } from './wal-sync.ts';

/** Everything that touches the database, in order. */
export interface WriteQueue {
  /**
   * Runs together with all writes that come until the disk is free in one transaction, and settles once that is on the disk. A write
   * that throws is undone alone. It may run twice, of which once counts.
   */
  write<T>(work: () => T, about?: QueuedWriteOptions<T>): Promise<T>;
  /** The same, with the next write that comes, or a moment later: for what nobody waits for. */
  writeDelayed<T>(work: () => T): Promise<T>;
  /**
   * Sees every write that has settled, and of the document that it names every one asked for before it. Settles once what it saw is on
   * the disk.
   */
  read<T>(work: () => T, name?: string): Promise<T>;
  /** Commits what is queued, and takes no more. */
  close(): void;
  /** How much waits. */
  readonly size: number;
}

export interface QueuedWriteOptions<T> {
  /** Which document, if only one can be meant. */
  name?: string | undefined;
  /** Another write follows, and is told of both: this one settles when it is committed, and the disk waits a moment for what follows. */
  deferSync?: boolean | undefined;
  /** Told, before whoever asked is, that it is on the disk. */
  onSynced?: ((value: T) => void) | undefined;
}

interface QueuedWrite {
  /** Throws when the whole transaction must end. */
  run(useSavepoint: boolean): WriteOutcome;
  reject: (error: unknown) => void;
  name: string | undefined;
}

/** What is left to do of a write that is part of a transaction. */
interface WriteOutcome {
  /** It is committed. True when whoever asked was told, and is about to write more. */
  handleCommit: () => boolean;
  /** It is on the disk. */
  handleSync: () => void;
}

/** So that a flood of writes does not hold the event loop for long. */
const MAX_BATCH = 500;
/** How long a write that nobody waits for may wait for another. */
const MAX_DELAY_MS = 20;
/** So many times in a row the disk waits for what follows, of which more may be followed. */
const MAX_DEFERRED_SYNCS = 4;

interface State {
  db: DatabaseSync;
  disk: LogSync;
  entries: QueuedWrite[];
  delayed: QueuedWrite[];
  /** How often a document is named by what is queued. */
  pendingDocuments: Map<string, number>;
  /** What is committed, and not on the disk yet. */
  unsynced: { settle: () => void; reject: (error: unknown) => void }[];
  scheduled: boolean;
  syncing: boolean;
  /** The disk said that it failed. What it has of the log is unknown. */
  logUncertain: boolean;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Group commit: waiting for the disk costs the same for one write as for hundreds. The event loop does not stand still meanwhile: what
 * comes until the disk is free makes up the next transaction.
 */
export function createWriteQueue(db: DatabaseSync, disk: LogSync): WriteQueue {
  const state: State = {
    db,
    disk,
    entries: [],
    delayed: [],
    pendingDocuments: new Map(),
    unsynced: [],
    scheduled: false,
    syncing: false,
    logUncertain: false,
    timer: undefined,
  };
  let closed = false;

  function enqueue<T>(to: QueuedWrite[], work: () => T, { name, deferSync, onSynced }: QueuedWriteOptions<T> = {}): Promise<T> {
    if (closed) return Promise.reject(storeClosed());
    if (name !== undefined) state.pendingDocuments.set(name, (state.pendingDocuments.get(name) ?? 0) + 1);
    return new Promise((resolve, reject) => {
      to.push({ run: (useSavepoint) => runWrite(db, { work, useSavepoint, deferSync, onSynced, resolve, reject }), reject, name });
      if (to === state.entries) schedule(state);
      else state.timer ??= setTimeout(() => schedule(state), MAX_DELAY_MS);
    });
  }

  return {
    write: (work, about) => enqueue(state.entries, work, about),
    writeDelayed: (work) => enqueue(state.delayed, work),
    read: async (work, name) => {
      // What a disk that failed has of the log is known once that is in the database, which is seen to before the next write.
      if (state.logUncertain || (name !== undefined && state.pendingDocuments.has(name))) return enqueue(state.entries, work);
      if (closed) throw storeClosed();
      const value = work();
      if (state.unsynced.length === 0) return value;
      return new Promise((resolve, reject) => state.unsynced.push({ settle: () => resolve(value), reject }));
    },
    close() {
      closed = true;
      while (state.entries.length + state.delayed.length > 0) commit(state);
      settleSynced(
        state,
        captureError(() => disk.syncNow()),
      );
    },
    get size() {
      return state.entries.length + state.delayed.length;
    },
  };
}

/** In the next turn of the event loop, so that all writes of this one are in it; not while the disk is at work. */
function schedule(state: State): void {
  if (state.scheduled || state.syncing) return;
  state.scheduled = true;
  setImmediate(flush, state);
}

function flush(state: State, deferrals = 0): void {
  state.scheduled = false;
  const isDeferred = state.entries.length + state.delayed.length > 0 && commit(state);
  if (isDeferred && deferrals < MAX_DEFERRED_SYNCS) {
    state.scheduled = true;
    runAfterMicrotasks(() => flush(state, deferrals + 1));
  } else if (state.unsynced.length > 0) sync(state);
  else if (state.entries.length + state.delayed.length > 0) schedule(state);
}

/** When whoever was told has done what follows from it at once. */
function runAfterMicrotasks(work: () => void): void {
  queueMicrotask(() => process.nextTick(work));
}

/** As one transaction. Whether more is about to be written, of which those are told that wait for it. */
function commit(state: State): boolean {
  const { db, entries, delayed: later, unsynced } = state;
  clearTimeout(state.timer);
  state.timer = undefined;
  const batch = entries.splice(0, MAX_BATCH);
  for (const { name } of batch) if (name !== undefined) removePending(state.pendingDocuments, name);
  batch.push(...later.splice(0, MAX_BATCH - batch.length));
  let isDeferred = false;
  try {
    if (state.logUncertain) checkpointLog(state);
    for (const [at, { handleCommit, handleSync }] of runTransaction(db, batch).entries()) {
      isDeferred = handleCommit() || isDeferred;
      unsynced.push({ settle: handleSync, reject: (batch[at] as QueuedWrite).reject });
    }
  } catch (cause) {
    for (const entry of batch) entry.reject(writeFailed(cause));
  }
  return isDeferred;
}

function removePending(named: Map<string, number>, name: string): void {
  const left = (named.get(name) ?? 1) - 1;
  if (left === 0) named.delete(name);
  else named.set(name, left);
}

function sync(state: State): void {
  state.syncing = true;
  const waiting = state.unsynced;
  state.disk.sync((error) => {
    state.syncing = false;
    // Closing has seen to it.
    if (waiting === state.unsynced) settleSynced(state, error);
    if (state.entries.length + state.delayed.length > 0) schedule(state);
  });
}

/** What is on the disk is settled; of what may not be, nobody is told that it is. */
function settleSynced(state: State, error: Error | null): void {
  const waiting = state.unsynced;
  state.unsynced = [];
  state.logUncertain ||= error !== null;
  for (const { settle, reject } of waiting) {
    if (error) reject(writeFailed(error));
    else settle();
  }
}

/**
 * A log of which a part may be missing loses all that is behind it. So what it has goes into the database first, and nothing is
 * written until that has worked.
 */
function checkpointLog(state: State): void {
  const { busy } = state.db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() ?? {};
  if (busy !== 0) throw new Error('the log is not in the database yet');
  state.logUncertain = false;
}

/** Without savepoints, which cost more than most writes. Only where one fails, all are run again, each in one of its own. */
function runTransaction(db: DatabaseSync, batch: readonly QueuedWrite[]): WriteOutcome[] {
  try {
    return run(db, batch, false);
  } catch (error) {
    if (error !== SAVEPOINTS_REQUIRED) throw error;
    return run(db, batch, true);
  }
}

function run(db: DatabaseSync, batch: readonly QueuedWrite[], useSavepoint: boolean): WriteOutcome[] {
  try {
    db.exec('BEGIN IMMEDIATE');
    const outcomes = batch.map((entry) => entry.run(useSavepoint));
    db.exec('COMMIT');
    return outcomes;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

interface RunWriteOptions<T> extends Pick<QueuedWriteOptions<T>, 'deferSync' | 'onSynced'> {
  work: () => T;
  useSavepoint: boolean;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
}

const SAVEPOINTS_REQUIRED = new Error('a write failed, and must be undone alone');

function runWrite<T>(
  db: DatabaseSync,
  { work, useSavepoint, deferSync = false, onSynced, resolve, reject }: RunWriteOptions<T>,
): WriteOutcome {
  if (useSavepoint) db.exec('SAVEPOINT one');
  try {
    const value = work();
    if (useSavepoint) db.exec('RELEASE one');
    return {
      handleCommit() {
        if (deferSync) resolve(value);
        return deferSync;
      },
      handleSync() {
        onSynced?.(value);
        resolve(value);
      },
    };
  } catch (error) {
    // A full disk or a failing one has already undone the whole transaction.
    if (!db.isTransaction) throw error;
    if (!useSavepoint) throw SAVEPOINTS_REQUIRED;
    db.exec('ROLLBACK TO one; RELEASE one');
    return { handleCommit: () => false, handleSync: () => reject(error) };
  }
}

function writeFailed(cause: unknown): ServiceError {
  return new ServiceError('UNAVAILABLE', 'the database could not be written', { cause });
}
