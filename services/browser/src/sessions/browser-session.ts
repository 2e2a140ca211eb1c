import { ServiceError } from '@switchyard/contracts';
import type { BrowserContext, Page } from 'playwright-core';
import { withDeadline } from './deadline.ts';
import { createConsoleLog, type ConsoleLog } from './console-log.ts';
import { followPage } from './follow-page.ts';
import { fillSessionStorage } from './page-storage.ts';
import type { OpenedTargets } from './opened-targets.ts';
import { createPendingTabs } from './pending-tabs.ts';
import { createRefs } from './refs.ts';
import { createStorageTracker, type StorageState } from './storage-state.ts';
import { getTabUrl, type Tab } from './tab.ts';
import { createTypedSecrets, type TypedSecrets } from './typed-secrets.ts';

const MAX_TABS = 20;
const CLOSE_TIMEOUT_MS = 3_000;
/** How long the first call waits for the pages that are restored. */
const RESTORE_WAIT_MS = 2_000;
/** How long a call waits for the first document of a tab that it names. */
const PENDING_TIMEOUT_MS = 5_000;

/** The stored state of a session, from which another replica opens it again. */
export interface SessionState {
  session: string;
  tabs: { id: string; url: string }[];
  focused?: string | undefined;
}

export interface BrowserSession {
  readonly console: ConsoleLog;
  readonly secrets: TypedSecrets;
  readonly lastUsedAt: number;
  /** Whether a call runs or waits. */
  readonly isBusy: boolean;
  listTabs(): Tab[];
  /** Lists the ids of tabs that pages have opened and whose first document has not arrived. */
  listPending(): string[];
  /** Waits until the first documents of all opened tabs have arrived, at most so long. */
  waitForPending(timeoutMs: number): Promise<void>;
  /** Returns the focused tab, or opens one. */
  getFocused(): Promise<Tab>;
  findFocused(): Tab | undefined;
  open(): Promise<Tab>;
  focus(tabId: string): Promise<Tab>;
  close(tabId: string): Promise<void>;
  /** Closes a tab that does not respond. */
  discard(tab: Tab): Promise<void>;
  getState(): SessionState;
  /** Reads cookies and the storage of the open pages. */
  readStorage(): Promise<StorageState>;
  /** Opens the stored tabs under their ids. A page that cannot be loaded leaves an empty tab, which keeps its address. */
  restore(state: SessionState, timeoutMs: number): Promise<void>;
  /** Runs calls one after another. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export interface SessionOptions {
  context: BrowserContext;
  session: string;
  /** Cookies and storage that the context was opened with. */
  storage: StorageState | undefined;
  /** Numbers of the next tab and the next reference. No earlier tab or reference of this browser has them. */
  numbers: { tab: number; ref: number };
  now: () => number;
  targets: OpenedTargets;
}

/** One session: a context of Chromium with its own tabs, cookies and console. */
export function createBrowserSession({ context, session, storage, numbers, now, targets }: SessionOptions): BrowserSession {
  const tabs = new Map<Page, Tab>();
  const log = createConsoleLog(now);
  const tracker = createStorageTracker(context, storage);
  let focused: Tab | undefined;
  let lastUsedAt = now();
  let last: Promise<unknown> = Promise.resolve();
  /** Calls that run or wait. */
  let calls = 0;

  function add(page: Page, id = `tab_${numbers.tab++}`): Tab {
    const known = tabs.get(page);
    if (known) return known;
    const tab: Tab = {
      id,
      page,
      refs: createRefs(() => numbers.ref++),
      happenings: { dialogs: [], downloads: [] },
      requested: '',
      navigating: false,
    };
    tabs.set(page, tab);
    followPage(tab, log);
    tracker.follow(page);
    page.on('close', () => {
      tabs.delete(page);
      if (focused === tab) focused = [...tabs.values()].at(-1);
    });
    return tab;
  }

  /** Tabs that a page opens. The oldest tab stays focused; an action reports the new ones. */
  context.on('page', (page) => {
    if (!isOpening) addOpened(page);
  });
  /** Pages that were closed, also where Chromium takes its time or does not close them. */
  const closed = new WeakSet<Page>();
  let isOpening = false;
  let isFollowed = false;

  function addOpened(page: Page): void {
    if (tabs.has(page) || closed.has(page) || page.isClosed()) return;
    const id = pending.take();
    if (tabs.size < MAX_TABS) add(page, id);
    else void closePage(page);
  }

  const pending = createPendingTabs({
    context,
    targets,
    assignId: (count) => (tabs.size + count < MAX_TABS ? `tab_${numbers.tab++}` : undefined),
  });

  async function openTab(id?: string): Promise<Tab> {
    if (tabs.size >= MAX_TABS) {
      throw new ServiceError('RESOURCE_EXHAUSTED', `The session has ${MAX_TABS} tabs, the maximum. Close one.`, {
        details: { retryable: true },
      });
    }
    isOpening = true;
    try {
      const page = await context.newPage();
      if (!isFollowed) await targets.follow(context, page, pending.listener);
      isFollowed = true;
      const tab = add(page, id);
      focused = tab;
      return tab;
    } finally {
      isOpening = false;
      for (const page of context.pages()) addOpened(page); // opened by other pages meanwhile
    }
  }

  async function find(tabId: string): Promise<Tab> {
    if (pending.list().includes(tabId)) await pending.wait(PENDING_TIMEOUT_MS);
    if (pending.list().includes(tabId))
      throw new ServiceError('UNAVAILABLE', `The tab ${tabId} waits for its first document. Repeat the call, or close the tab.`);
    const tab = [...tabs.values()].find(({ id }) => id === tabId);
    if (!tab) throw new ServiceError('NOT_FOUND', `The tab ${tabId} does not exist. browser.tabs lists the open tabs.`);
    return tab;
  }

  async function closePage(page: Page): Promise<void> {
    tabs.delete(page);
    closed.add(page);
    await withDeadline(page.close(), CLOSE_TIMEOUT_MS).catch(() => undefined);
  }

  const secrets = createTypedSecrets();
  /** Returns the address that is stored in clear text. The sealed state has no addresses. */
  const getStoredUrl = (tab: Tab): string => {
    const url = tab.navigating ? tab.requested : getTabUrl(tab);
    return secrets.isIn(url) ? (url.split(/[?#]/, 1)[0] ?? '') : url;
  };

  return {
    console: log,
    secrets,
    get lastUsedAt() {
      return lastUsedAt;
    },
    get isBusy() {
      return calls > 0;
    },
    listTabs: () => [...tabs.values()],
    listPending: () => pending.list(),
    waitForPending: (timeoutMs) => pending.wait(timeoutMs),
    findFocused: () => focused,
    getFocused: async () => focused ?? openTab(),
    open: () => openTab(),
    async focus(tabId) {
      const tab = await find(tabId);
      focused = tab;
      await withDeadline(tab.page.bringToFront(), CLOSE_TIMEOUT_MS).catch(() => undefined);
      return tab;
    },
    async close(tabId) {
      if (await pending.close(tabId)) return;
      const tab = await find(tabId);
      await closePage(tab.page);
      if (focused === tab) focused = [...tabs.values()].at(-1);
    },
    async discard(tab) {
      await closePage(tab.page);
      if (focused === tab) focused = [...tabs.values()].at(-1);
    },
    getState: () => ({
      session,
      tabs: [...tabs.values()].map((tab) => ({ id: tab.id, url: getStoredUrl(tab) })),
      focused: focused?.id,
    }),
    readStorage: () => tracker.read([...tabs.values()], { isIdle: calls === 0 }),
    async restore(stored, timeoutMs) {
      const loads: Promise<unknown>[] = [];
      for (const { id, url } of stored.tabs) {
        const tab = await openTab(id);
        const { page } = tab;
        if (!/^https?:/.test(url)) continue;
        // Stored under its address again, also if a call saves the session before the page has loaded.
        tab.requested = url;
        tab.navigating = true;
        const known = tracker.findSessionStorage(id);
        const withdraw = known && (await fillSessionStorage(page, known.origin, known.entries));
        const load = page
          .goto(url, { waitUntil: 'commit', timeout: timeoutMs })
          .finally(withdraw)
          .then(() => page.waitForLoadState('domcontentloaded', { timeout: timeoutMs }));
        loads.push(load.catch(() => undefined));
      }
      // Calls see the restored pages. A page that does not answer soon does not delay them.
      last = withDeadline(Promise.all(loads), RESTORE_WAIT_MS).catch(() => undefined);
      focused = [...tabs.values()].find(({ id }) => id === stored.focused) ?? focused;
    },
    run(work) {
      calls += 1;
      const next = last.then(async () => {
        await tracker.waitForDatabases();
        lastUsedAt = now();
        for (const { happenings } of tabs.values()) {
          happenings.dialogs.length = 0;
          happenings.downloads.length = 0;
        }
        return work();
      });
      last = next.catch(() => undefined);
      return next.finally(() => {
        calls -= 1;
        lastUsedAt = now();
      });
    },
  };
}
