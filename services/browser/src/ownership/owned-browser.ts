import { createHash } from 'node:crypto';
import type { Lease } from '@switchyard/work';
import type { BrowserSession } from '../sessions/browser-session.ts';
import type { LiveBrowser } from '../sessions/live-browser.ts';
import { reserveNumbers, type BrowserDocument, type BrowserKey, type Numbers } from './browser-document.ts';
import type { StoredStates } from './stored-state.ts';

/** Unchanged state is written again after this time, so that it does not expire while it is used. */
const REWRITE_INTERVAL_MS = 86_400_000;

export interface OwnedBrowser {
  readonly live: LiveBrowser;
  /** Stores the tabs of all sessions, after each call that may change them. */
  save(): Promise<void>;
  /** Stores cookies and storage of all sessions that changed. A session whose state cannot be read or stored is saved the next time. */
  saveStorage(): Promise<void>;
  /** Closes a session and forgets its tabs. Its cookies and storage are kept for the next start of the session, unless it is stopped. */
  closeSession(session: string, options: { isStopped: boolean }): Promise<void>;
}

export interface OwnedBrowserOptions {
  live: LiveBrowser;
  lease: Lease<BrowserDocument>;
  states: StoredStates;
  now: () => number;
  log: { warn(fields: object, message: string): void };
  numbers: Numbers;
  /** Closes Chromium and parks the document. */
  stop: () => void;
}

/** Couples a running Chromium with its document: tabs, and the encrypted cookies and storage of its sessions. */
export function createOwnedBrowser({ live, lease, states, now, log, numbers, stop }: OwnedBrowserOptions): OwnedBrowser {
  const { tenant } = lease;
  const { browserId } = lease.document;
  const getKey = (session: string): BrowserKey => ({ tenant, browserId, session });
  const savedStates = new Map<string, { digest: string; at: number }>();
  let saved = '';
  let saving: Promise<void> | undefined;
  let nextSave: Promise<void> | undefined;

  async function save(): Promise<void> {
    const sessions = live.list().map(([, session]) => session.getState());
    const change = { sessions, ...reserveNumbers(numbers) };
    const text = JSON.stringify(change);
    const { attempts } = lease.document;
    if (text === saved && attempts === 0) return;
    // A browser that serves calls is no poison, however often its replicas were killed.
    await lease.write({ set: { ...change, failure: null, usedAt: now() }, ...(attempts > 0 && { inc: { attempts: -attempts } }) });
    saved = text;
  }

  async function saveSession(name: string, session: BrowserSession): Promise<void> {
    const state = await session.readStorage();
    const digest = createHash('sha256').update(JSON.stringify(state)).digest('base64url');
    const known = savedStates.get(name);
    const isSaved = known?.digest === digest && now() - known.at < REWRITE_INTERVAL_MS;
    // A session that was closed meanwhile has no state to keep.
    if (isSaved || !lease.isHeld() || live.find(name) !== session) return;
    if (await states.save(getKey(name), state, lease.fence)) savedStates.set(name, { digest, at: now() });
  }

  async function saveStorage(): Promise<void> {
    const results = await Promise.allSettled(live.list().map(([name, session]) => saveSession(name, session)));
    const failure = results.find((result) => result.status === 'rejected');
    if (failure && lease.isHeld()) log.warn({ err: failure.reason as unknown, browserId }, 'cookies and storage were not saved');
    await save();
  }

  function startSaving(): Promise<void> {
    nextSave = undefined;
    return (saving = saveStorage().finally(() => (saving = undefined)));
  }

  return {
    live,
    save,
    // A save that runs may have read the pages before their last change, so that another one follows it.
    saveStorage: () => (saving ? (nextSave ??= saving.then(startSaving, startSaving)) : startSaving()),
    async closeSession(name, { isStopped }) {
      const left = await live.stop(name);
      savedStates.delete(name);
      try {
        await saving?.catch(() => undefined); // may be about to write the state of this session
        if (isStopped && lease.isHeld()) await states.remove(getKey(name));
      } finally {
        if (left === 0) stop();
        else await save();
      }
    },
  };
}
