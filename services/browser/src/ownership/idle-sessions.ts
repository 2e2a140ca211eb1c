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
