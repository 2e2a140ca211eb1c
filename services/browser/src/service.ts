import { browser as contract, ServiceError } from '@switchyard/contracts';
import { atIntervals, createStorageKeyReader, defineService, systemClock } from '@switchyard/service-kit';
import { observe } from '@switchyard/telemetry';
import { startBrowserProxy, type BrowserProxy } from './chromium/browser-proxy.ts';
import { findChromium } from './chromium/find-chromium.ts';
import { launchChromium } from './chromium/launch-chromium.ts';
import { createSpareChromium } from './chromium/spare-chromium.ts';
import { createHandlers } from './handlers/create-handlers.ts';
import { createBrowserMethods } from './handlers/browser-methods.ts';
import { browserCollection } from './ownership/browser-document.ts';
import { createBrowserWork } from './ownership/browser-work.ts';
import { createStoredStates, stateCollection } from './ownership/stored-state.ts';
import { parseAddress } from './pages/address.ts';
import { closeIdleSessions, createMakeRoom } from './ownership/idle-sessions.ts';

const IDLE_CHECK_INTERVAL_MS = 30_000;
/** Interval between two saves of cookies and storage, below the promised 5 s, because reading takes time. */
const SAVE_INTERVAL_MS = 4_000;

/** At the bound of browsers, one that was used within this time is not closed for another. */
const MIN_IDLE_MS = 60_000;

/** Drives Chromium for agents and clients. */
export const browser = defineBrowser();

/** The service with another time after which a browser counts as idle, for tests. */
export function defineBrowser({ minIdleMs = MIN_IDLE_MS }: { minIdleMs?: number } = {}) {
  return defineService({
    contract,
    version: '0.1.0',
    settings: ['browser', 'security', 'tenantId'],

    async setup({ settings, store, bus, log, own, replica, env, health }) {
      const { browsers, states } = await store.open({ browsers: browserCollection, states: stateCollection });
      const now = (): number => store.now();
      const allowLoopback = (): boolean => settings.current.browser.allowLoopbackNavigation;
      const egress = (): typeof settings.current.security => settings.current.security;
      let proxy: Promise<BrowserProxy> | undefined;
      const openProxy = (): Promise<BrowserProxy> => (proxy ??= startBrowserProxy(egress, allowLoopback));
      own.defer(async () => (await proxy)?.[Symbol.asyncDispose]());
      const chromium = createSpareChromium(async () => {
        if (settings.current.browser.noSandbox) {
          throw new ServiceError(
            'FAILED_PRECONDITION',
            'browser.noSandbox must be false: set it to false or remove it. The browser does not start without a sandbox.',
          );
        }
        const program = await findChromium(settings.current.browser.chromePath, env['PATH'] ?? '');
        return launchChromium({ program, proxy: (await openProxy()).url });
      });
      own.use(chromium);
      const capacity = (): number => (settings.current.browser.enabled ? settings.current.browser.maxProfiles : 0);
      const running = createBrowserWork({
        browsers,
        states: createStoredStates({ states, readKey: createStorageKeyReader(bus, 'browser'), now }),
        owner: replica,
        now,
        log,
        capacity,
        viewport: () => settings.current.browser.viewport,
        onStart: (failure) => health.setOptional('chromium', failure),
        chromium,
      });
      own.use(running.work);
      own.defer(observe('switchyard.browser.running', {}, () => running.list().length));
      own.defer(observe('switchyard.browser.sessions', {}, () => running.list().reduce((sum, { live }) => sum + live.list().length, 0)));
      const saveStorage = async (): Promise<void> => {
        await Promise.all(running.list().map((owned) => owned.saveStorage()));
      };
      // Before the leases are released, so that the next replica finds the latest state.
      own.defer(() => saveStorage().catch((error: unknown) => log.warn({ err: error }, 'cookies and storage were not saved')));
      const saves = atIntervals(
        { clock: systemClock, ms: SAVE_INTERVAL_MS, failed: (error) => log.warn({ err: error }, 'cookies and storage were not saved') },
        saveStorage,
      );
      own.use(saves);
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
        makeRoom: createMakeRoom({ running, capacity, now, minIdleMs }),
        isEnabled: () => settings.current.browser.enabled,
        getTenantId: () => settings.current.tenantId,
        checkAddress: (url) => void parseAddress(url, addresses),
      });
    },
  });
}
