import type { DatabaseSync } from 'node:sqlite';
import { ServiceError } from '@switchyard/contracts';
import { closedError } from './database.ts';
import { outcomeOf, type Disk } from './wal-sync.ts';

/** Everything that touches the database, in order. */
export interface Queue {
  /**
   * Runs together with all writes that come until the disk is free in one transaction, and settles once that is on the disk. A write
   * that throws is undone alone. It may run twice, of which once counts.
   */
  write<T>(work: () => T, about?: About<T>): Promise<T>;
  /** The same, with the next write that comes, or a moment later: for what nobody waits for. */
  writeLater<T>(work: () => T): Promise<T>;
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

export interface About<T> {
  /** Which document, if only one can be meant. */
  name?: string | undefined;
  /** Another write follows, and is told of both: this one settles when it is committed, and the disk waits a moment for what follows. */
  followed?: boolean | undefined;
  /** Told, before whoever asked is, that it is on the disk. */
  onDisk?: ((value: T) => void) | undefined;
}

interface Entry {
  /** Throws when the whole transaction must end. */
  run(careful: boolean): Outcome;
  reject: (error: unknown) => void;
  name: string | undefined;
}

/** What is left to do of a write that is part of a transaction. */
interface Outcome {
  /** It is committed. True when whoever asked was told, and is about to write more. */
  committed: () => boolean;
  /** It is on the disk. */
  settle: () => void;
}

/** So that a flood of writes does not hold the event loop for long. */
const MAX_BATCH = 500;
/** How long a write that nobody waits for may wait for another. */
const LATER_MS = 20;
/** So many times in a row the disk waits for what follows, of which more may be followed. */
const MAX_FOLLOWING = 4;

interface State {
  db: DatabaseSync;
  disk: Disk;
  entries: Entry[];
  later: Entry[];
  /** How often a document is named by what is queued. */
  named: Map<string, number>;
  /** What is committed, and not on the disk yet. */
  unsynced: { settle: () => void; reject: (error: unknown) => void }[];
  scheduled: boolean;
  syncing: boolean;
  /** The disk said that it failed. What it has of the log is unknown. */
  doubtful: boolean;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Group commit: waiting for the disk costs the same for one write as for hundreds. The event loop does not stand still meanwhile: what
 * comes until the disk is free makes up the next transaction.
 */
export function createQueue(db: DatabaseSync, disk: Disk): Queue {
  const state: State = {
    db,
    disk,
    entries: [],
    later: [],
    named: new Map(),
    unsynced: [],
    scheduled: false,
    syncing: false,
    doubtful: false,
    timer: undefined,
  };
  let closed = false;

  function enqueue<T>(to: Entry[], work: () => T, { name, followed, onDisk }: About<T> = {}): Promise<T> {
    if (closed) return Promise.reject(closedError());
    if (name !== undefined) state.named.set(name, (state.named.get(name) ?? 0) + 1);
    return new Promise((resolve, reject) => {
      to.push({ run: (careful) => attempt(db, { work, careful, followed, onDisk, resolve, reject }), reject, name });
      if (to === state.entries) schedule(state);
      else state.timer ??= setTimeout(() => schedule(state), LATER_MS);
    });
  }

  return {
    write: (work, about) => enqueue(state.entries, work, about),
    writeLater: (work) => enqueue(state.later, work),
    read: async (work, name) => {
      // What a disk that failed has of the log is known once that is in the database, which is seen to before the next write.
      if (state.doubtful || (name !== undefined && state.named.has(name))) return enqueue(state.entries, work);
      if (closed) throw closedError();
      const value = work();
      if (state.unsynced.length === 0) return value;
      return new Promise((resolve, reject) => state.unsynced.push({ settle: () => resolve(value), reject }));
    },
    close() {
      closed = true;
      while (state.entries.length + state.later.length > 0) commit(state);
      finish(
        state,
        outcomeOf(() => disk.syncNow()),
      );
    },
    get size() {
      return state.entries.length + state.later.length;
    },
  };
}

/** In the next turn of the event loop, so that all writes of this one are in it; not while the disk is at work. */
function schedule(state: State): void {
  if (state.scheduled || state.syncing) return;
  state.scheduled = true;
  setImmediate(flush, state);
}

function flush(state: State, following = 0): void {
  state.scheduled = false;
  const isFollowed = state.entries.length + state.later.length > 0 && commit(state);
  if (isFollowed && following < MAX_FOLLOWING) {
    state.scheduled = true;
    afterPromises(() => flush(state, following + 1));
  } else if (state.unsynced.length > 0) sync(state);
  else if (state.entries.length + state.later.length > 0) schedule(state);
}

/** When whoever was told has done what follows from it at once. */
function afterPromises(work: () => void): void {
  queueMicrotask(() => process.nextTick(work));
}

/** As one transaction. Whether more is about to be written, of which those are told that wait for it. */
function commit(state: State): boolean {
  const { db, entries, later, unsynced } = state;
  clearTimeout(state.timer);
  state.timer = undefined;
  const batch = entries.splice(0, MAX_BATCH);
  for (const { name } of batch) if (name !== undefined) leave(state.named, name);
  batch.push(...later.splice(0, MAX_BATCH - batch.length));
  let isFollowed = false;
  try {
    if (state.doubtful) heal(state);
    for (const [at, { committed, settle }] of transact(db, batch).entries()) {
      isFollowed = committed() || isFollowed;
      unsynced.push({ settle, reject: (batch[at] as Entry).reject });
    }
  } catch (cause) {
    for (const entry of batch) entry.reject(unwritten(cause));
  }
  return isFollowed;
}

function leave(named: Map<string, number>, name: string): void {
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
    if (waiting === state.unsynced) finish(state, error);
    if (state.entries.length + state.later.length > 0) schedule(state);
  });
}

/** What is on the disk is settled; of what may not be, nobody is told that it is. */
function finish(state: State, error: Error | null): void {
  const waiting = state.unsynced;
  state.unsynced = [];
  state.doubtful ||= error !== null;
  for (const { settle, reject } of waiting) {
    if (error) reject(unwritten(error));
    else settle();
  }
}

/**
 * A log of which a part may be missing loses all that is behind it. So what it has goes into the database first, and nothing is
 * written until that has worked.
 */
function heal(state: State): void {
  const { busy } = state.db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() ?? {};
  if (busy !== 0) throw new Error('the log is not in the database yet');
  state.doubtful = false;
}

/** Without savepoints, which cost more than most writes. Only where one fails, all are run again, each in one of its own. */
function transact(db: DatabaseSync, batch: readonly Entry[]): Outcome[] {
  try {
    return run(db, batch, false);
  } catch (error) {
    if (error !== AGAIN) throw error;
    return run(db, batch, true);
  }
}

function run(db: DatabaseSync, batch: readonly Entry[], careful: boolean): Outcome[] {
  try {
    db.exec('BEGIN IMMEDIATE');
    const outcomes = batch.map((entry) => entry.run(careful));
    db.exec('COMMIT');
    return outcomes;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

interface Attempt<T> extends Pick<About<T>, 'followed' | 'onDisk'> {
  work: () => T;
  careful: boolean;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
}

const AGAIN = new Error('a write failed, and must be undone alone');

function attempt<T>(db: DatabaseSync, { work, careful, followed = false, onDisk, resolve, reject }: Attempt<T>): Outcome {
  if (careful) db.exec('SAVEPOINT one');
  try {
    const value = work();
    if (careful) db.exec('RELEASE one');
    return {
      committed() {
        if (followed) resolve(value);
        return followed;
      },
      settle() {
        onDisk?.(value);
        resolve(value);
      },
    };
  } catch (error) {
    // A full disk or a failing one has already undone the whole transaction.
    if (!db.isTransaction) throw error;
    if (!careful) throw AGAIN;
    db.exec('ROLLBACK TO one; RELEASE one');
    return { committed: () => false, settle: () => reject(error) };
  }
}

function unwritten(cause: unknown): ServiceError {
  return new ServiceError('UNAVAILABLE', 'the database could not be written', { cause });
}
