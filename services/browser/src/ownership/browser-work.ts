import type { Sections } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { createWork, type Lease, type Outcome, type Work } from '@switchyard/work';
import { createLiveBrowser, type LiveBrowser } from '../sessions/live-browser.ts';
import type { Browser } from 'playwright-core';
import type { BrowserDocument, BrowserKey } from './browser-document.ts';

const PARKED_MS = 365 * 86_400_000;
const MAX_ATTEMPTS = 3;
/** A browser that ends sooner after its start is started again without its tabs, which may have caused the end. */
const MIN_LIFE_MS = 10_000;

export interface RunningBrowsers {
  readonly work: Work<BrowserDocument>;
  find(key: Pick<BrowserKey, 'tenant' | 'browserId'>): OwnedBrowser | undefined;
  list(): OwnedBrowser[];
  /** Resolves when this replica has the browser, or fails with the reason why it could not be started. */
  getStart(key: Pick<BrowserKey, 'tenant' | 'browserId'>): Promise<void> | undefined;
}

export interface OwnedBrowser {
  readonly live: LiveBrowser;
  /** Stores the tabs of all sessions, after each call that may change them. */
  save(): Promise<void>;
  /** Closes Chromium and parks the document. */
  stop(): void;
}

export interface BrowserWorkDeps {
  browsers: Collection<BrowserDocument>;
  owner: string;
  now: () => number;
  log: { warn(fields: object, message: string): void };
  capacity: () => number;
  viewport: () => Sections['browser']['viewport'];
  launch: () => Promise<Browser>;
}

/** Runs the browsers of this replica, each under the lease of its document. */
export function createBrowserWork(deps: BrowserWorkDeps): RunningBrowsers {
  const { browsers, owner, now, log, capacity } = deps;
  const owned = new Map<string, OwnedBrowser>();
  const starts = new Map<string, Promise<void>>();

  async function run(lease: Lease<BrowserDocument>): Promise<Outcome<BrowserDocument>> {
    const { document, tenant } = lease;
    const name = formatName({ tenant, browserId: document.browserId });
    const parked = { parkUntil: now() + PARKED_MS, set: { wanted: false, sessions: [] } };
    if (!document.wanted) return parked;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined);
    starts.set(name, promise);
    const startedAt = performance.now();
    let live: ReturnType<typeof createLiveBrowser>;
    try {
      live = createLiveBrowser({ browser: await deps.launch(), viewport: deps.viewport, now });
      await live.restore(document.sessions);
    } catch (error) {
      reject(error);
      starts.delete(name);
      log.warn({ err: error, browserId: document.browserId }, 'the browser did not start');
      return parked;
    }
    const stopped = Promise.withResolvers<'stopped' | 'lost'>();
    lease.signal.addEventListener('abort', () => stopped.resolve('lost'), { once: true });
    if (lease.signal.aborted) stopped.resolve('lost');
    let saved = JSON.stringify(document.sessions);
    owned.set(name, {
      live,
      async save() {
        const sessions = live.list().map(([, session]) => session.getState());
        const text = JSON.stringify(sessions);
        if (text === saved) return;
        await lease.write({ set: { sessions, usedAt: now() } });
        saved = text;
      },
      stop: () => stopped.resolve('stopped'),
    });
    resolve();
    starts.delete(name);
    const reason = await Promise.race([stopped.promise, live.ended.then(() => 'crashed' as const)]);
    owned.delete(name);
    await live.close();
    if (reason !== 'crashed') return parked;
    log.warn({ browserId: document.browserId }, 'Chromium ended unexpectedly; it is started again');
    const isLongLived = performance.now() - startedAt > MIN_LIFE_MS;
    return { parkUntil: now(), ...(!isLongLived && { set: { sessions: [] } }) };
  }

  const work = createWork<BrowserDocument>({
    documents: browsers,
    owner,
    now,
    log,
    capacity,
    run,
    poison: { maxAttempts: MAX_ATTEMPTS, outcome: () => ({ parkUntil: now() + PARKED_MS, set: { wanted: false, sessions: [] } }) },
  });
  return {
    work,
    find: (key) => owned.get(formatName(key)),
    list: () => [...owned.values()],
    getStart: (key) => starts.get(formatName(key)),
  };
}

function formatName({ tenant, browserId }: Pick<BrowserKey, 'tenant' | 'browserId'>): string {
  return JSON.stringify([tenant, browserId]);
}
