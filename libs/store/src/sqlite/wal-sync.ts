import { closeSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { platform } from 'node:process';

/** Syncs the write-ahead log of a database to disk. */
export interface LogSync {
  /** Syncs without blocking the event loop. */
  sync(done: (error: Error | null) => void): void;
  syncNow(): void;
  close(): void;
}

/** Node's permission model does not allow `fdatasync`. SQLite then syncs each commit and blocks the event loop. */
export const SYNC_IN_DATABASE = process.permission !== undefined;

/** Number of stores of this process that have a log open. */
const openLogs = new Map<string, number>();

/**
 * Opens the log of an open database for syncing. SQLite has no lock on this file, so closing it releases none. If several stores of
 * this process share the database, the sync blocks the event loop, because one store sees the unsynced commits of another.
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

/** Without this a crash may lose the directory entry of a new log. Windows does not support it. */
function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Returns the error that the work throws, or null. */
export function captureError(work: () => void): Error | null {
  try {
    work();
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error('no reason given', { cause: error });
  }
}
