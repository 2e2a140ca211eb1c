import { ServiceError } from '@switchyard/contracts';
import type { BrowserContext, Page } from 'playwright-core';
import { withDeadline } from './deadline.ts';
import { createConsoleLog, type ConsoleLog } from './console-log.ts';
import { fillSessionStorage } from './page-storage.ts';
import { createRefs } from './refs.ts';
import { createStorageTracker, type StorageState } from './storage-state.ts';
import type { Tab } from './tab.ts';
import { createTypedSecrets, type TypedSecrets } from './typed-secrets.ts';

const MAX_TABS = 20;
const CLOSE_TIMEOUT_MS = 3_000;
const MAX_HAPPENINGS = 20;

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
  listTabs(): Tab[];
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
  /** Opens the stored tabs under their ids. A page that cannot be loaded leaves an empty tab. */
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
}

/** One session: a context of Chromium with its own tabs, cookies and console. */
export function createBrowserSession({ context, session, storage, numbers, now }: SessionOptions): BrowserSession {
  const tabs = new Map<Page, Tab>();
  const log = createConsoleLog(now);
  const tracker = createStorageTracker(context, storage);
  let focused: Tab | undefined;
  let lastUsedAt = now();
  let last: Promise<unknown> = Promise.resolve();

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
    page.on('close', () => {
      tabs.delete(page);
      if (focused === tab) focused = [...tabs.values()].at(-1);
    });
    return tab;
  }

  /** Tabs that a page opens. The oldest tab stays focused; an action reports the new ones. */
  context.on('page', (page) => {
    if (tabs.size >= MAX_TABS && !tabs.has(page)) void page.close().catch(() => undefined);
    else if (opening === 0) add(page);
  });
  let opening = 0;

  async function openTab(id?: string): Promise<Tab> {
    if (tabs.size >= MAX_TABS) {
      throw new ServiceError('RESOURCE_EXHAUSTED', `The session has ${MAX_TABS} tabs, the maximum. Close one.`, {
        details: { retryable: true },
      });
    }
    opening++;
    try {
      const tab = add(await context.newPage(), id);
      focused = tab;
      return tab;
    } finally {
      opening--;
    }
  }

  function find(tabId: string): Tab {
    const tab = [...tabs.values()].find(({ id }) => id === tabId);
    if (!tab) throw new ServiceError('NOT_FOUND', `The tab ${tabId} does not exist. browser.tabs lists the open tabs.`);
    return tab;
  }

  async function closePage({ page }: Tab): Promise<void> {
    tabs.delete(page);
    await withDeadline(page.close(), CLOSE_TIMEOUT_MS).catch(() => undefined);
  }

  const secrets = createTypedSecrets();
  /** Returns the address that is stored in clear text. The sealed state has no addresses. */
  const getStoredUrl = ({ page, requested, navigating }: Tab): string => {
    const url = navigating ? requested : page.url();
    return secrets.isIn(url) ? (url.split(/[?#]/, 1)[0] ?? '') : url;
  };

  return {
    console: log,
    secrets,
    get lastUsedAt() {
      return lastUsedAt;
    },
    listTabs: () => [...tabs.values()],
    findFocused: () => focused,
    getFocused: async () => focused ?? openTab(),
    open: () => openTab(),
    async focus(tabId) {
      const tab = find(tabId);
      focused = tab;
      await withDeadline(tab.page.bringToFront(), CLOSE_TIMEOUT_MS).catch(() => undefined);
      return tab;
    },
    async close(tabId) {
      const tab = find(tabId);
      await closePage(tab);
      if (focused === tab) focused = [...tabs.values()].at(-1);
    },
    async discard(tab) {
      await closePage(tab);
      if (focused === tab) focused = [...tabs.values()].at(-1);
    },
    getState: () => ({
      session,
      tabs: [...tabs.values()].map((tab) => ({ id: tab.id, url: getStoredUrl(tab) })),
      focused: focused?.id,
    }),
    readStorage: () => tracker.read([...tabs.values()]),
    async restore(stored, timeoutMs) {
      for (const { id, url } of stored.tabs) {
        const tab = await openTab(id);
        const { page } = tab;
        if (!/^https?:/.test(url)) continue;
        // Stored under its address again, also if a call saves the session before the page has loaded.
        tab.requested = url;
        tab.navigating = true;
        const known = tracker.findSessionStorage(id);
        const withdraw = known && (await fillSessionStorage(page, known.origin, known.entries));
        void page
          .goto(url, { waitUntil: 'commit', timeout: timeoutMs })
          .finally(withdraw)
          .catch(() => undefined);
      }
      focused = [...tabs.values()].find(({ id }) => id === stored.focused) ?? focused;
    },
    run(work) {
      const next = last.then(() => {
        lastUsedAt = now();
        for (const { happenings } of tabs.values()) {
          happenings.dialogs.length = 0;
          happenings.downloads.length = 0;
        }
        return work();
      });
      last = next.catch(() => undefined);
      return next.finally(() => (lastUsedAt = now()));
    },
  };

  function followPage(tab: Tab, consoleLog: ConsoleLog): void {
    const { page, happenings } = tab;
    consoleLog.follow(page);
    page.on('dialog', (dialog) => {
      const accepts = dialog.type() === 'alert' || dialog.type() === 'beforeunload';
      if (happenings.dialogs.length < MAX_HAPPENINGS) {
        happenings.dialogs.push(`${dialog.type()} ${accepts ? 'accepted' : 'dismissed'}: ${dialog.message().slice(0, 500)}`);
      }
      void (accepts ? dialog.accept() : dialog.dismiss()).catch(() => undefined);
    });
    page.on('download', (download) => {
      if (happenings.downloads.length < MAX_HAPPENINGS) happenings.downloads.push(download.suggestedFilename().slice(0, 500));
      void download.cancel().catch(() => undefined);
    });
    // Intercepted and left alone: no file of this machine is read.
    page.on('filechooser', () => undefined);
    page.on('crash', () => void page.close().catch(() => undefined));
    page.on('request', (request) => {
      if (!request.isNavigationRequest() || request.frame() !== page.mainFrame()) return;
      tab.requested = request.url();
      tab.navigating = true;
    });
    page.on('requestfailed', (request) => {
      if (request.isNavigationRequest() && request.frame() === page.mainFrame()) tab.navigating = false;
    });
    page.on('framenavigated', (frame) => {
      if (frame !== page.mainFrame()) return;
      tab.navigating = false;
      // Chromium itself refuses such addresses to pages; this is the second barrier.
      if (!/^(?:https?:|about:|blob:https?:|chrome-error:)/.test(frame.url())) void page.goto('about:blank').catch(() => undefined);
    });
  }
}
