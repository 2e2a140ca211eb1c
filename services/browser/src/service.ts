import { browser as contract, ServiceError } from '@switchyard/contracts';
import { atIntervals, defineService, systemClock } from '@switchyard/service-kit';
import { startBrowserProxy, type BrowserProxy } from './chromium/browser-proxy.ts';
import { findChromium } from './chromium/find-chromium.ts';
import { launchChromium } from './chromium/launch-chromium.ts';
import { createHandlers } from './handlers/create-handlers.ts';
import { createBrowserMethods } from './handlers/browser-methods.ts';
import { browserCollection } from './ownership/browser-document.ts';
import { createBrowserWork } from './ownership/browser-work.ts';
import { parseAddress } from './pages/address.ts';
import { closeIdleSessions } from './ownership/idle-sessions.ts';

const IDLE_CHECK_INTERVAL_MS = 30_000;

/** Drives Chromium for agents and clients. */
export const browser = defineService({
  contract,
  version: '0.1.0',
  settings: ['browser', 'security'],

  async setup({ settings, store, bus, log, own, replica, env }) {
    const { browsers } = await store.open({ browsers: browserCollection });
    const now = (): number => store.now();
    const allowLoopback = (): boolean => settings.current.browser.allowLoopbackNavigation;
    const egress = (): typeof settings.current.security => settings.current.security;
    let proxy: Promise<BrowserProxy> | undefined;
    const openProxy = (): Promise<BrowserProxy> => (proxy ??= startBrowserProxy(egress, allowLoopback));
    own.defer(async () => (await proxy)?.[Symbol.asyncDispose]());
    const running = createBrowserWork({
      browsers,
      owner: replica,
      now,
      log,
      capacity: () => (settings.current.browser.enabled ? settings.current.browser.maxProfiles : 0),
      viewport: () => settings.current.browser.viewport,
      async launch() {
        if (settings.current.browser.noSandbox) {
          throw new ServiceError('FAILED_PRECONDITION', 'browser.noSandbox must be false: the browser does not start without a sandbox.');
        }
        const program = await findChromium(settings.current.browser.chromePath, env['PATH'] ?? '');
        return launchChromium({ program, proxy: (await openProxy()).url });
      },
    });
    own.use(running.work);
    const idle = atIntervals(
      { clock: systemClock, ms: IDLE_CHECK_INTERVAL_MS, failed: (error) => log.warn({ err: error }, 'idle sessions were not closed') },
      () => closeIdleSessions(running, now),
    );
    own.use(idle);
    const addresses = { egress, allowLoopback };
    const methods = createBrowserMethods({
      openProxy,
      addresses,
      settings: () => settings.current.browser,
    });
    return createHandlers({
      browsers,
      running,
      bus,
      replica,
      now,
      methods,
      isEnabled: () => settings.current.browser.enabled,
      checkAddress: (url) => void parseAddress(url, addresses),
    });
  },
});
