import { ServiceError, type Params, type Result, type Sections } from '@switchyard/contracts';
import type { BrowserProxy } from '../chromium/browser-proxy.ts';
import { performAction, type ActOptions } from '../pages/act.ts';
import { parseAddress, type AddressPolicy } from '../pages/address.ts';
import { printPdf, takeScreenshot } from '../pages/capture.ts';
import { browserGone, isClosed, PageUnresponsive } from '../sessions/deadline.ts';
import { navigateTab } from '../pages/navigate.ts';
import { readTitle } from '../pages/read-title.ts';
import { takeSnapshot } from '../pages/take-snapshot.ts';
import type { BrowserKey } from '../ownership/browser-document.ts';
import type { OwnedBrowser } from '../ownership/owned-browser.ts';
import type { BrowserMethod } from '../ownership/route-call.ts';
import type { BrowserSession } from '../sessions/browser-session.ts';
import { getTabUrl, type Tab } from '../sessions/tab.ts';

const TITLE_TIMEOUT_MS = 1_000;
/** Time of a capture or snapshot, below the deadline of the method. */
const MAX_PAGE_TIMEOUT_MS = 50_000;

export type BrowserSettings = Sections['browser'];

export interface MethodDeps {
  openProxy: () => Promise<BrowserProxy>;
  addresses: AddressPolicy;
  settings: () => BrowserSettings;
}

interface MethodCall<N extends BrowserMethod> {
  params: Params<N>;
  session: BrowserSession;
  owned: OwnedBrowser;
  key: BrowserKey;
  resolveSecret: ActOptions['resolveSecret'];
}

export type Methods = { [N in BrowserMethod]: (call: MethodCall<N>) => Promise<Result<N>> };

/** Returns the methods, run on the replica that has the browser. */
export function createBrowserMethods({ openProxy, addresses, settings }: MethodDeps): Methods {
  const timeout = (): number => Math.min(settings().timeoutMs, MAX_PAGE_TIMEOUT_MS);

  /** Runs the work on the focused tab. A tab that does not respond is closed. */
  async function onFocused<T>(session: BrowserSession, work: (tab: Tab) => Promise<T>): Promise<T> {
    const tab = session.findFocused();
    if (!tab) throw new ServiceError('FAILED_PRECONDITION', 'No tab is open. browser.navigate and browser.open open one.');
    return guard(session, tab, work);
  }

  async function guard<T>(session: BrowserSession, tab: Tab, work: (tab: Tab) => Promise<T>): Promise<T> {
    try {
      return await work(tab);
    } catch (error) {
      if (isClosed(error)) throw browserGone();
      if (!(error instanceof PageUnresponsive)) throw error;
      await session.discard(tab);
      throw new ServiceError('DEADLINE_EXCEEDED', `The page did not respond, so the tab ${tab.id} was closed. Navigate again.`);
    }
  }

  return {
    'browser.start': async () => ({ started: true }),
    async 'browser.status'({ session, owned, key }) {
      const tabs = session.listTabs();
      const focused = session.findFocused();
      const url = focused && getTabUrl(focused);
      const lost = owned.live.notRestored.get(key.session);
      return {
        running: true,
        ...(url !== undefined && { url: url.slice(0, 8_192) }),
        tabCount: tabs.length,
        connected: true,
        chromeVersion: owned.live.version,
        ...(lost && { notRestored: [...lost] }),
      };
    },
    async 'browser.stop'({ owned, key }) {
      await owned.closeSession(key.session, { isStopped: true });
      return { stopped: true };
    },
    async 'browser.navigate'({ params, session }) {
      const url = parseAddress(params.url, addresses);
      return guard(session, await session.getFocused(), async (tab) =>
        navigateTab(tab, { url, timeoutMs: timeout(), proxy: await openProxy() }),
      );
    },
    async 'browser.open'({ params, session }) {
      const url = parseAddress(params.url ?? 'about:blank', addresses);
      const tab = await session.open();
      try {
        if (url !== 'about:blank')
          await guard(session, tab, async () => navigateTab(tab, { url, timeoutMs: timeout(), proxy: await openProxy() }));
      } catch (error) {
        await session.discard(tab); // its id is not returned
        throw error;
      }
      return { tabId: tab.id };
    },
    'browser.snapshot': ({ params, session }) =>
      onFocused(session, (tab) =>
        takeSnapshot(tab, { params, maxChars: params.maxChars ?? Math.min(settings().snapshotMaxChars, 8_000_000), timeoutMs: timeout() }),
      ),
    'browser.screenshot'({ params, session }) {
      const { screenshotMaxSide: maxSide, screenshotQuality: quality } = settings();
      return onFocused(session, (tab) => takeScreenshot(tab, { params, maxSide, quality, timeoutMs: timeout() }));
    },
    'browser.pdf': ({ session }) => onFocused(session, (tab) => printPdf(tab, timeout())),
    'browser.act'({ params, session, resolveSecret }) {
      const { evaluateEnabled } = settings();
      return onFocused(session, (tab) => performAction(tab, params, { session, evaluateEnabled, resolveSecret }));
    },
    async 'browser.tabs'({ session }) {
      const tabs = await Promise.all(session.listTabs().map(describeTab));
      return { tabs: [...tabs, ...session.listPending().map((id) => ({ id, url: 'about:blank', title: '' }))] };
    },
    async 'browser.focus'({ params: { tabId }, session }) {
      await session.focus(tabId);
      return { focused: true, tabId };
    },
    async 'browser.close'({ params: { tabId }, session }) {
      await session.close(tabId);
      return { closed: true, tabId };
    },
    'browser.console': async ({ params, session }) => ({ entries: session.console.list(params.level) }),
  };
}

async function describeTab(tab: Tab): Promise<Result<'browser.tabs'>['tabs'][number]> {
  const title = await readTitle(tab.page, TITLE_TIMEOUT_MS).catch(() => '');
  return { id: tab.id, url: getTabUrl(tab).slice(0, 8_192), title };
}
