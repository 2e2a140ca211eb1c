import type { DatabaseSync } from 'node:sqlite';
import { ServiceError } from '@switchyard/contracts';
import { closedError } from './database.ts';

/** Everything that touches the database, in order. */
export interface Queue {
  /**
   * Runs together with all writes of this turn of the event loop in one transaction, and settles once that is on the disk. A write
   * that throws is undone alone.
   */
  write<T>(work: () => T): Promise<T>;
  /** Sees every write asked for before it. */
  read<T>(work: () => T): Promise<T>;
  /** Commits what is queued, and takes no more. */
  close(): void;
  /** How much waits. */
  readonly size: number;
}

interface Entry {
  /** Throws only when the whole transaction must end. Returns what to do after the commit. */
  run(): () => void;
  reject(error: unknown): void;
}

/** So that a flood of writes does not hold the event loop for long. */
const MAX_BATCH = 500;

/** Group commit: waiting for the disk costs the same for one write as for hundreds. */
export function createQueue(db: DatabaseSync, onCommit: () => void): Queue {
  const entries: Entry[] = [];
  let scheduled = false;
  let closed = false;

  function flush(): void {
    scheduled = false;
    if (entries.length === 0) return;
    const batch = entries.splice(0, MAX_BATCH);
    if (entries.length > 0) schedule();
    try {
      db.exec('BEGIN IMMEDIATE');
      const settle = batch.map((entry) => entry.run());
      db.exec('COMMIT');
      for (const done of settle) done();
    } catch (cause) {
      abandon(db);
      const error = new ServiceError('UNAVAILABLE', 'the database could not be written', { cause });
      for (const entry of batch) entry.reject(error);
      return;
    }
    onCommit();
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(flush);
  }

  function enqueue<T>(work: () => T, guarded: boolean): Promise<T> {
    if (closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      entries.push({ run: () => attempt(db, { work, guarded, resolve, reject }), reject });
      schedule();
    });
  }

  return {
    write: (work) => enqueue(work, true),
    read: async (work) => {
      if (entries.length > 0) return enqueue(work, false);
      if (closed) throw closedError();
      return work();
    },
    close() {
      closed = true;
      while (entries.length > 0) flush();
    },
    get size() {
      return entries.length;
    },
  };
}

interface Attempt<T> {
  work: () => T;
  guarded: boolean;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
}

function attempt<T>(db: DatabaseSync, { work, guarded, resolve, reject }: Attempt<T>): () => void {
  if (guarded) db.exec('SAVEPOINT one');
  try {
    const value = work();
    if (guarded) db.exec('RELEASE one');
    return () => resolve(value);
  } catch (error) {
    // A full disk or a failing one has already undone the whole transaction.
    if (!db.isTransaction) throw error;
    if (guarded) db.exec('ROLLBACK TO one; RELEASE one');
    return () => reject(error);
  }
}

function abandon(db: DatabaseSync): void {
  if (db.isTransaction) db.exec('ROLLBACK');
}
