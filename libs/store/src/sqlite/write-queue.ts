import type { DatabaseSync } from 'node:sqlite';
import { ServiceError } from '@switchyard/contracts';
import { storeClosed } from './database.ts';
import { captureError, type LogSync } from './wal-sync.ts';

/** Executes reads and writes of a database in order. */
export interface WriteQueue {
  /**
   * Runs the write in one transaction with all writes that are queued while the previous sync runs, and resolves after the sync. A
   * write that throws is rolled back alone. The work may run twice; only one run is committed.
   */
  write<T>(work: () => T, about?: QueuedWriteOptions<T>): Promise<T>;
  /** Runs the write with the next one, or after `MAX_DELAY_MS`. For writes that no caller waits for. */
  writeDelayed<T>(work: () => T): Promise<T>;
  /**
   * Reads all resolved writes, and all queued writes of the named document. Resolves after the data that it read is synced.
   */
  read<T>(work: () => T, name?: string): Promise<T>;
  /** Commits all queued writes and rejects new ones. */
  close(): void;
  /** Number of queued writes. */
  readonly size: number;
}

export interface QueuedWriteOptions<T> {
  /** The document, if the write affects only one. */
  name?: string | undefined;
  /** Another write follows: resolve this one after the commit, and delay the sync for the next commit. */
  deferSync?: boolean | undefined;
  /** Called after the sync, before the write resolves. */
  onSynced?: ((value: T) => void) | undefined;
  /** Returns whether the work has changed nothing. Such work needs no sync. */
  isUnchanged?: ((value: T) => boolean) | undefined;
}

interface QueuedWrite {
  /** Throws if the whole transaction must be rolled back. */
  run(useSavepoint: boolean): WriteOutcome;
  reject: (error: unknown) => void;
  name: string | undefined;
}

/** Callbacks of a write that was executed in a transaction. */
interface WriteOutcome {
  /** Call after the commit. Returns true if the write was resolved and another write follows. */
  handleCommit: () => boolean;
  /** Call after the sync. */
  handleSync: () => void;
  /** The write has left the database as it was. */
  isUnchanged: boolean;
}

/** Limits the time that one transaction blocks the event loop. */
const MAX_BATCH = 500;
const MAX_DELAY_MS = 20;
/** Maximum number of consecutive commits without a sync. */
const MAX_DEFERRED_SYNCS = 4;

interface State {
  db: DatabaseSync;
  disk: LogSync;
  entries: QueuedWrite[];
  delayed: QueuedWrite[];
  /** Number of queued writes by document. */
  pendingDocuments: Map<string, number>;
  /** Committed writes that are not synced. */
  unsynced: { settle: () => void; reject: (error: unknown) => void }[];
  scheduled: boolean;
  syncing: boolean;
  /** A sync failed, so the content of the log on disk is unknown. */
  logUncertain: boolean;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Creates a queue with group commit: one sync covers all writes of a transaction and does not block the event loop. Writes that arrive
 * during a sync form the next transaction.
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

  function enqueue<T>(to: QueuedWrite[], work: () => T, { name, ...options }: QueuedWriteOptions<T> = {}): Promise<T> {
    if (closed) return Promise.reject(storeClosed());
    if (name !== undefined) state.pendingDocuments.set(name, (state.pendingDocuments.get(name) ?? 0) + 1);
    return new Promise((resolve, reject) => {
      to.push({ run: (useSavepoint) => runWrite(db, { work, useSavepoint, ...options, resolve, reject }), reject, name });
      if (to === state.entries) schedule(state);
      else state.timer ??= setTimeout(() => schedule(state), MAX_DELAY_MS);
    });
  }

  return {
    write: (work, about) => enqueue(state.entries, work, about),
    writeDelayed: (work) => enqueue(state.delayed, work),
    read: async (work, name) => {
      // After a failed sync the next write first checkpoints the log.
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

/** Schedules a flush for the next turn of the event loop, so that it includes all writes of this turn. */
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

/** Runs after the callers of resolved writes have queued their next writes. */
function runAfterMicrotasks(work: () => void): void {
  queueMicrotask(() => process.nextTick(work));
}

/** Commits queued writes in one transaction. Returns whether a resolved write announced another one. */
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
    const outcomes = runTransaction(db, batch);
    // A write that changed nothing and saw nothing unsynced is on disk already.
    if (unsynced.length === 0 && outcomes.every((outcome) => outcome.isUnchanged)) {
      for (const { handleSync } of outcomes) handleSync();
      return false;
    }
    for (const [at, { handleCommit, handleSync }] of outcomes.entries()) {
      isDeferred = handleCommit() || isDeferred;
      unsynced.push({ settle: handleSync, reject: (batch[at] as QueuedWrite).reject });
    }
  } catch (cause) {
    for (const entry of batch) entry.reject(writeFailed(cause));
  }
  return isDeferred;
}

function removePending(named: Map<string, number>, name: string): void {
  const remaining = (named.get(name) ?? 1) - 1;
  if (remaining === 0) named.delete(name);
  else named.set(name, remaining);
}

function sync(state: State): void {
  state.syncing = true;
  const waiting = state.unsynced;
  state.disk.sync((error) => {
    state.syncing = false;
    // `close` may have settled these writes already.
    if (waiting === state.unsynced) settleSynced(state, error);
    if (state.entries.length + state.delayed.length > 0) schedule(state);
  });
}

/** Resolves synced writes, or rejects them if the sync failed. */
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
 * After a failed sync a part of the log may be missing on disk, and recovery would ignore everything after it. Checkpoints the log
 * before the next write.
 */
function checkpointLog(state: State): void {
  const { busy } = state.db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() ?? {};
  if (busy !== 0) throw new Error('the log could not be checkpointed');
  state.logUncertain = false;
}

/** Runs without savepoints, which cost more than most writes. If a write fails, runs all again with a savepoint each. */
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

interface RunWriteOptions<T> extends Omit<QueuedWriteOptions<T>, 'name'> {
  work: () => T;
  useSavepoint: boolean;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
}

const SAVEPOINTS_REQUIRED = new Error('a write failed and must be rolled back alone');

function runWrite<T>(
  db: DatabaseSync,
  { work, useSavepoint, deferSync = false, onSynced, isUnchanged, resolve, reject }: RunWriteOptions<T>,
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
      isUnchanged: isUnchanged?.(value) ?? false,
    };
  } catch (error) {
    // After an I/O error SQLite has rolled back the whole transaction.
    if (!db.isTransaction) throw error;
    if (!useSavepoint) throw SAVEPOINTS_REQUIRED;
    db.exec('ROLLBACK TO one; RELEASE one');
    return { handleCommit: () => false, handleSync: () => reject(error), isUnchanged: true };
  }
}

function writeFailed(cause: unknown): ServiceError {
  return new ServiceError('UNAVAILABLE', 'failed to write to the database', { cause });
}
