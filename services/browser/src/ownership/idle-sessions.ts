import type { RunningBrowsers } from './browser-work.ts';

const IDLE_TIMEOUT_MS = 600_000;

/** Closes sessions that no call has used for ten minutes, and browsers without a session. */
export async function closeIdleSessions(running: RunningBrowsers, now: () => number): Promise<void> {
  for (const owned of running.list()) {
    const { live } = owned;
    for (const [name, { lastUsedAt }] of live.list()) {
      if (now() - lastUsedAt < IDLE_TIMEOUT_MS) continue;
      if ((await live.stop(name)) === 0) owned.stop();
    }
  }
}
