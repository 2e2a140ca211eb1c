import type { RunningBrowsers } from './browser-work.ts';

const IDLE_TIMEOUT_MS = 600_000;

/** Saves and closes sessions that no call has used for ten minutes, and browsers without a session. */
export async function closeIdleSessions(running: RunningBrowsers, now: () => number): Promise<void> {
  for (const owned of running.list()) {
    for (const [name, { lastUsedAt }] of owned.live.list()) {
      if (now() - lastUsedAt < IDLE_TIMEOUT_MS) continue;
      await owned.saveStorage();
      await owned.closeSession(name, { isStopped: false });
    }
  }
}

export interface MakeRoomOptions {
  running: RunningBrowsers;
  capacity: () => number;
  now: () => number;
  /** A browser that was used within this time is not closed. */
  minIdleMs: number;
}

/**
 * Returns a function that saves and closes the browser that is idle for the longest time if this replica has no place for another one. It
 * resolves with whether one was closed.
 */
export function createMakeRoom({ running, capacity, now, minIdleMs }: MakeRoomOptions): () => Promise<boolean> {
  let closing: Promise<boolean> | undefined;

  async function makeRoom(): Promise<boolean> {
    if (running.list().length < capacity()) return false;
    const idle = running
      .list()
      .map((owned) => ({ owned, sessions: owned.live.list().map(([, session]) => session) }))
      .filter(({ sessions }) => sessions.every(({ isBusy, lastUsedAt }) => !isBusy && now() - lastUsedAt >= minIdleMs))
      .map(({ owned, sessions }) => ({ owned, usedAt: Math.max(0, ...sessions.map(({ lastUsedAt }) => lastUsedAt)) }))
      .toSorted((a, b) => a.usedAt - b.usedAt);
    const owned = idle[0]?.owned;
    if (owned === undefined) return false;
    await owned.saveStorage();
    for (const [name] of owned.live.list()) await owned.closeSession(name, { isStopped: false });
    return true;
  }

  return () => (closing ??= makeRoom().finally(() => (closing = undefined)));
}
