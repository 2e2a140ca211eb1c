import { closeSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { platform } from 'node:process';

/** Puts on the disk what was written to the log of a database so far. */
export interface LogSync {
  /** Without holding up the event loop. */
  sync(done: (error: Error | null) => void): void;
  syncNow(): void;
  close(): void;
}

/**
 * A process that may reach some files only may not ask for what it wrote to be put on the disk. Then the database does so with each
 * transaction, and the event loop waits for it.
 */
export const SYNC_IN_DATABASE = process.permission !== undefined;

/** How many stores of this process have a log open. */
const openLogs = new Map<string, number>();

/**
 * The log of a database that is open, and stays the same file for as long. SQLite holds no lock on this file, so that opening and
 * closing it takes none away. Where several stores of this process have it open, what one has committed another sees at once: then the
 * event loop waits, so that nobody acts on what is not on the disk yet.
 */
export function openLogSync(log: string): LogSync {
  if (SYNC_IN_DATABASE) return { sync: (done) => done(null), syncNow: () => undefined, close: () => undefined };
  const fd = openSync(log, 'r');
  if (platform !== 'win32') syncDirectory(dirname(log));
  let [syncing, closed] = [0, false];
  openLogs.set(log, (openLogs.get(log) ?? 0) + 1);
  const isShared = (): boolean => (openLogs.get(log) ?? 0) > 1;
  const closeUnused = (): void => {
    if (closed && syncing === 0) closeSync(fd);
  };
  return {
    sync(done) {
      if (isShared()) return done(captureError(() => fdatasyncSync(fd)));
      syncing += 1;
      fdatasync(fd, (error) => {
        syncing -= 1;
        closeUnused();
        done(error);
      });
    },
    syncNow: () => fdatasyncSync(fd),
    close() {
      closed = true;
      openLogs.set(log, (openLogs.get(log) ?? 1) - 1);
      if (openLogs.get(log) === 0) openLogs.delete(log);
      closeUnused();
    },
  };
}

/** A log whose name is not on the disk is lost with all that is in it. Windows has no such thing to ask for. */
function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** What went wrong, if anything. */
export function captureError(work: () => void): Error | null {
  try {
    work();
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error('no reason given', { cause: error });
  }
}
