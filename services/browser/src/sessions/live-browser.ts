import type { Browser } from 'playwright-core';
import { ServiceError, type Sections } from '@switchyard/contracts';
import { withDeadline } from './deadline.ts';
import { toContextState, type StorageState } from './storage-state.ts';
import type { OpenedTargets } from './opened-targets.ts';
import { createBrowserSession, type BrowserSession, type SessionState } from './browser-session.ts';

/** Sessions of one browser; each has a context. */
const MAX_SESSIONS = 20;
const RESTORE_TIMEOUT_MS = 8_000;

export interface LiveBrowser {
  readonly version: string;
  readonly notRestored: ReadonlyMap<string, readonly string[]>;
  find(session: string): BrowserSession | undefined;
  open(session: string): Promise<BrowserSession>;
  /** Closes a session with its tabs and cookies. Returns the number of sessions that are left. */
  stop(session: string): Promise<number>;
  list(): [session: string, BrowserSession][];
  close(): Promise<void>;
  /** Resolves when Chromium has ended. */
  readonly ended: Promise<void>;
}

export interface LiveBrowserOptions {
  browser: Browser;
  viewport: () => Sections['browser']['viewport'];
  now: () => number;
  /** Returns the stored cookies and storage of a session. */
  loadStorage: (session: string) => Promise<StorageState | undefined>;
  /** Numbers of the next tab and the next reference. */
  numbers: { tab: number; ref: number };
  targets: OpenedTargets;
}

/** One running Chromium with the sessions of an agent or client. */
export function createLiveBrowser({ browser, viewport, now, loadStorage, numbers, targets }: LiveBrowserOptions): LiveBrowser & {
  restore(states: readonly SessionState[]): Promise<void>;
} {
  const sessions = new Map<string, { session: BrowserSession; close: () => Promise<void> }>();
  const notRestored = new Map<string, readonly string[]>();
  const ended = new Promise<void>((resolve) => void browser.once('disconnected', () => resolve()));
  const opening = new Map<string, Promise<BrowserSession>>();

  async function create(name: string): Promise<{ session: BrowserSession; storage: StorageState | undefined }> {
    if (sessions.size >= MAX_SESSIONS) {
      throw new ServiceError('RESOURCE_EXHAUSTED', `The browser has ${MAX_SESSIONS} sessions, the maximum. Stop one.`);
    }
    const { width, height } = viewport();
    const options = { viewport: { width, height }, acceptDownloads: false, serviceWorkers: 'allow' } as const;
    let storage = await loadStorage(name);
    // State that Chromium refuses must not keep the session from opening.
    const restored = storage && (await browser.newContext({ ...options, storageState: toContextState(storage) }).catch(() => undefined));
    if (!restored) storage = undefined;
    const context = restored ?? (await browser.newContext(options));
    const session = createBrowserSession({ context, session: name, storage, numbers, now, targets });
    sessions.set(name, { session, close: () => context.close() });
    return { session, storage };
  }

  return {
    version: browser.version(),
    notRestored,
    ended,
    find: (name) => sessions.get(name)?.session,
    async open(name) {
      const known = sessions.get(name);
      if (known) return known.session;
      const started =
        opening.get(name) ??
        create(name)
          .then(({ session }) => session)
          .finally(() => opening.delete(name));
      opening.set(name, started);
      return started;
    },
    async stop(name) {
      const known = sessions.get(name);
      sessions.delete(name);
      notRestored.delete(name);
      if (known) await withDeadline(known.close(), 3_000).catch(() => undefined);
      return sessions.size;
    },
    list: () => [...sessions].map(([name, { session }]) => [name, session]),
    async close() {
      await withDeadline(browser.close(), 5_000).catch(() => undefined);
    },
    async restore(states) {
      await Promise.all(
        states.map(async (state) => {
          const { session, storage } = await create(state.session);
          await session.restore(state, RESTORE_TIMEOUT_MS);
          const lost = storage?.lost ?? ['cookies', 'storage'];
          if (state.tabs.length > 0) notRestored.set(state.session, [...lost, 'forms', 'history']);
        }),
      );
    },
  };
}
