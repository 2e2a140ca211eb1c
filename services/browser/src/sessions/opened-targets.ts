import type { Browser, BrowserContext, Page } from 'playwright-core';

export interface TargetListener {
  created(targetId: string): void;
  destroyed(targetId: string): void;
}

/**
 * Reports the tabs of a browser when Chromium creates them. The driver's own event comes once the first document of a tab has arrived, which
 * a slow server delays without limit. Tabs that the service or the driver opens, for example to read databases, have no opener and are not
 * reported.
 */
export interface OpenedTargets {
  /** Calls the listener for the tabs that pages of this context open from now on. `page` is any page of the context. */
  follow(context: BrowserContext, page: Page, listener: TargetListener): Promise<void>;
  close(targetId: string): Promise<void>;
}

export async function watchTargets(browser: Browser): Promise<OpenedTargets> {
  const listeners = new Map<string, TargetListener>();
  const session = await browser.newBrowserCDPSession();
  session.on('Target.targetCreated', ({ targetInfo: { browserContextId, targetId, openerId } }) => {
    if (browserContextId !== undefined && openerId !== undefined) listeners.get(browserContextId)?.created(targetId);
  });
  session.on('Target.targetDestroyed', ({ targetId }) => {
    for (const listener of listeners.values()) listener.destroyed(targetId);
  });
  await session.send('Target.setDiscoverTargets', { discover: true, filter: [{ type: 'page' }] });
  return {
    async follow(context, page, listener) {
      const own = await context.newCDPSession(page);
      const { targetInfo } = await own.send('Target.getTargetInfo');
      await own.detach();
      const { browserContextId } = targetInfo;
      if (browserContextId === undefined) return;
      listeners.set(browserContextId, listener);
      context.once('close', () => listeners.delete(browserContextId));
    },
    async close(targetId) {
      await session.send('Target.closeTarget', { targetId });
    },
  };
}
