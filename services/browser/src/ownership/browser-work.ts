import { ServiceError, type Sections } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { counter } from '@switchyard/telemetry';
import { createWork, type Lease, type Outcome, type Work } from '@switchyard/work';
import { createLiveBrowser, type LiveBrowserOptions } from '../sessions/live-browser.ts';
import type { Browser } from 'playwright-core';
import type { SpareChromium } from '../chromium/spare-chromium.ts';
import { watchTargets } from '../sessions/opened-targets.ts';
import type { StorageState } from '../sessions/storage-state.ts';
import { createNumbers, type BrowserDocument, type BrowserKey } from './browser-document.ts';
import { createOwnedBrowser, type OwnedBrowser } from './owned-browser.ts';
import { describeStartFailure, ENDED_TOO_OFTEN, toError } from './start-failure.ts';
import type { StoredStates } from './stored-state.ts';

const PARKED_MS = 365 * 86_400_000;
const MAX_ATTEMPTS = 3;
const RETRY_DELAY_MS = 500;
/** A browser that ends sooner after its start is started again without its tabs, which may have caused the end. */
const MIN_LIFE_MS = 10_000;

export interface RunningBrowsers {
  readonly work: Work<BrowserDocument>;
  find(key: Pick<BrowserKey, 'tenant' | 'browserId'>): OwnedBrowser | undefined;
  list(): OwnedBrowser[];
  /** Resolves when this replica has the browser, or fails with the reason why it could not be started. */
  getStart(key: Pick<BrowserKey, 'tenant' | 'browserId'>): Promise<void> | undefined;
  /** Starts a Chromium for a browser whose owner is gone, so that it is ready when the lease of the owner has ended. */
  prepareTakeover(): void;
}

export interface BrowserWorkDeps {
  browsers: Collection<BrowserDocument>;
  states: StoredStates;
  owner: string;
  now: () => number;
  log: { warn(fields: object, message: string): void };
  capacity: () => number;
  viewport: () => Sections['browser']['viewport'];
  chromium: Pick<SpareChromium, 'launch' | 'prepare'>;
  /** Called after each start of Chromium, with the reason if it failed. */
  onStart: (failure: string | undefined) => void;
}

/** Runs the browsers of this replica, each under the lease of its document. */
export function createBrowserWork(deps: BrowserWorkDeps): RunningBrowsers {
  const { browsers, states, owner, now, log, capacity } = deps;
  const owned = new Map<string, OwnedBrowser>();
  const starts = new Map<string, Promise<void>>();

  async function launchChromium(): Promise<Browser> {
    try {
      const browser = await deps.chromium.launch();
      deps.onStart(undefined);
      return browser;
    } catch (error) {
      deps.onStart(describeStartFailure(error).message);
      throw error;
    }
  }

  async function launch(
    lease: Lease<BrowserDocument>,
    numbers: LiveBrowserOptions['numbers'],
  ): Promise<ReturnType<typeof createLiveBrowser>> {
    const { document, tenant } = lease;
    const { browserId, sessions } = document;
    const loadStorage = async (session: string): Promise<StorageState | undefined> => {
      try {
        return await states.load({ tenant, browserId, session });
      } catch (error) {
        log.warn({ err: error, browserId }, 'the stored cookies of a session were not read');
        return undefined;
      }
    };
    const browser = await launchChromium();
    const targets = await watchTargets(browser);
    const live = createLiveBrowser({ browser, viewport: deps.viewport, now, loadStorage, numbers, targets });
    try {
      await live.restore(sessions);
    } catch (error) {
      await live.close();
      throw error;
    }
    return live;
  }

  async function run(lease: Lease<BrowserDocument>): Promise<Outcome<BrowserDocument>> {
    const { document, tenant } = lease;
    const name = formatName({ tenant, browserId: document.browserId });
    if (!document.wanted) return park();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined);
    starts.set(name, promise);
    const startedAt = performance.now();
    const numbers = createNumbers(document);
    let live: ReturnType<typeof createLiveBrowser>;
    try {
      live = await launch(lease, numbers);
    } catch (error) {
      reject(error instanceof ServiceError ? error : toError(describeStartFailure(error)));
      starts.delete(name);
      counter('switchyard.browser.starts', { outcome: describeStartFailure(error).code }).add();
      log.warn({ err: error, browserId: document.browserId }, 'the browser did not start');
      // Another replica may be able to start it, and the tabs are not lost until then.
      const isTakeover = document.sessions.length > 0 && document.attempts < MAX_ATTEMPTS;
      return isTakeover ? { retryAt: now() + RETRY_DELAY_MS, set: { failure: describeStartFailure(error) } } : park(error);
    }
    counter('switchyard.browser.starts', { outcome: 'started' }).add();
    const stopped = Promise.withResolvers<'stopped' | 'lost'>();
    lease.signal.addEventListener('abort', () => stopped.resolve('lost'), { once: true });
    if (lease.signal.aborted) stopped.resolve('lost');
    owned.set(name, createOwnedBrowser({ live, lease, states, now, log, numbers, stop: () => stopped.resolve('stopped') }));
    resolve();
    starts.delete(name);
    const reason = await Promise.race([stopped.promise, live.ended.then(() => 'crashed' as const)]);
    owned.delete(name);
    counter('switchyard.browser.ends', { reason }).add();
    await live.close();
    if (reason !== 'crashed') return park();
    log.warn({ browserId: document.browserId }, 'Chromium ended unexpectedly; it is started again');
    const isLongLived = performance.now() - startedAt > MIN_LIFE_MS;
    return { parkUntil: now(), ...(!isLongLived && { set: { sessions: [] } }) };
  }

  function park(error?: unknown): Outcome<BrowserDocument> {
    const failure = error === undefined ? null : describeStartFailure(error);
    return { parkUntil: now() + PARKED_MS, set: { wanted: false, sessions: [], failure } };
  }

  const work = createWork<BrowserDocument>({
    documents: browsers,
    owner,
    now,
    log,
    capacity,
    run,
    poison: {
      maxAttempts: MAX_ATTEMPTS,
      outcome: ({ failure }) => ({
        parkUntil: now() + PARKED_MS,
        set: { wanted: false, sessions: [], failure: failure ?? ENDED_TOO_OFTEN },
      }),
    },
  });
  return {
    work,
    find: (key) => owned.get(formatName(key)),
    list: () => [...owned.values()],
    getStart: (key) => starts.get(formatName(key)),
    prepareTakeover() {
      if (owned.size + starts.size < capacity()) deps.chromium.prepare();
    },
  };
}

function formatName({ tenant, browserId }: Pick<BrowserKey, 'tenant' | 'browserId'>): string {
  return JSON.stringify([tenant, browserId]);
}
