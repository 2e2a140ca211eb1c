import { ServiceError, type Result } from '@switchyard/contracts';
import type { Response } from 'playwright-core';
import type { BrowserProxy } from '../chromium/browser-proxy.ts';
import type { Tab } from '../sessions/tab.ts';
import { convertRefusal } from './address.ts';
import { readTitle } from './read-title.ts';
import { describeFailure, isClosed, isTimeout, PageUnresponsive, withDeadline } from '../sessions/deadline.ts';

const MAX_LOAD_ATTEMPTS = 3;
const ANSWER_TIMEOUT_MS = 2_000;
/** How long the page may go on loading after its document is complete. */
const LOAD_TIMEOUT_MS = 1_000;

export interface NavigateOptions {
  url: string;
  timeoutMs: number;
  proxy: BrowserProxy;
}

/** Loads an address in a tab. Refusals of the proxy, also after redirects, are PERMISSION_DENIED. */
export async function navigateTab(tab: Tab, { url, timeoutMs, proxy }: NavigateOptions): Promise<Result<'browser.navigate'>> {
  const { page } = tab;
  const since = performance.now();
  tab.requested = url;
  try {
    const response = await withDeadline(load(tab, url, timeoutMs), timeoutMs + 1_000);
    throwIfRefused(tab, proxy, since, response?.status());
  } catch (error) {
    if (error instanceof ServiceError || error instanceof PageUnresponsive || isClosed(error)) throw error;
    throwIfRefused(tab, proxy, since);
    if (isTimeout(error)) {
      await stopLoading(tab);
      throw new ServiceError('DEADLINE_EXCEEDED', `${shorten(url)} did not load within ${timeoutMs} ms (browser.timeoutMs).`);
    }
    const reason = /net::(ERR_[A-Z_]+)/.exec(String(error))?.[1] ?? describeFailure(error);
    const details = { reason: 'NAVIGATION_FAILED', retryable: false };
    throw new ServiceError('UNAVAILABLE', `${shorten(url)} cannot be loaded: ${reason}`, { details });
  }
  await page.waitForLoadState('load', { timeout: LOAD_TIMEOUT_MS }).catch(() => undefined);
  const title = await readTitle(page, ANSWER_TIMEOUT_MS);
  return { url: page.url().slice(0, 8_192), title, tabId: tab.id };
}

/** Repeats a load that the error page of the previous load interrupted, because Chromium shows that page after the failure is known. */
async function load({ page }: Tab, url: string, timeout: number): Promise<Response | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await page.goto(url, { waitUntil: 'domcontentloaded', timeout });
    } catch (error) {
      const interrupting = /interrupted by another navigation to "(.*?)"/.exec(String(error))?.[1];
      if (attempt === MAX_LOAD_ATTEMPTS || interrupting === undefined) throw error;
      await page.waitForLoadState('domcontentloaded', { timeout });
      // The same address may be loading only, for example in a restored tab, and is requested again then.
      if (interrupting === url && page.url() === url) return null;
    }
  }
}

/** The proxy answers a refused `http:` request with 403; a refused tunnel is an error of the load. */
function throwIfRefused(tab: Tab, proxy: BrowserProxy, since: number, status?: number): void {
  if (status !== undefined && status !== 403) return;
  if (!URL.canParse(tab.requested)) return;
  const { hostname, port, protocol } = new URL(tab.requested);
  const host = `${hostname.replaceAll(/^\[|\]$/g, '')}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
  const refusal = proxy.findRefusal(host, since);
  if (refusal) throw convertRefusal(refusal);
}

/** Ends an endless load. A page that does not even do this is closed. */
async function stopLoading({ page }: Tab): Promise<void> {
  await withDeadline(page.evaluate('window.stop()'), ANSWER_TIMEOUT_MS);
}

function shorten(url: string): string {
  return url.length > 200 ? `${url.slice(0, 200)}…` : url;
}
