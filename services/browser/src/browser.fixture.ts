import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Handler } from '@switchyard/bus';
import { contracts } from '@switchyard/contracts';
import { mapHosts } from '@switchyard/egress/testing';
import { findChromium, serveStorageKey, testService, type TestService, type TestServiceOptions } from '@switchyard/testkit';
import { defineBrowser } from './service.ts';

/** The reason why tests with Chromium are skipped; undefined if it is installed. */
export const chromiumMissing: string | undefined = await findChromium().then(
  () => undefined,
  (error: unknown) => String(error),
);

/** The key of stored cookies, the same for all replicas of a test. */
export const STORAGE_KEY = randomBytes(32);

export const TIMEOUT = { timeout: 120_000, skip: chromiumMissing ?? false };

export interface Outside extends AsyncDisposable {
  readonly port: number;
  /** Paths of the requests so far. */
  readonly requests: string[];
}

/** Serves pages under `http://site.example`: HTML by path, or a listener. `*` answers the paths that are not listed. */
export async function startOutside(pages: Readonly<Record<string, string | RequestListener>>): Promise<Outside> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    requests.push(path);
    const page = pages[path] ?? pages['*'];
    if (typeof page === 'function') page(request, response);
    else response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' }).end(page ?? 'not found');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const hosts = mapHosts({ 'site.example': { port }, 'other.example': { port } });
  return {
    port,
    requests,
    async [Symbol.asyncDispose]() {
      hosts[Symbol.dispose]();
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

export interface TestBrowserOptions extends TestServiceOptions {
  /** At the bound of browsers, one that was used within this time is not closed for another; default: a minute. */
  minIdleMs?: number;
  /** Handlers of the secrets service besides the storage key. */
  secrets?: { 'secrets.resolve': Handler<'secrets.resolve'> };
}

/** Starts the browser service with the browser turned on. */
export function testBrowser({ secrets, minIdleMs, ...options }: TestBrowserOptions = {}): Promise<TestService> {
  return testService(defineBrowser(minIdleMs === undefined ? {} : { minIdleMs }), {
    ...options,
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    async prepare(host) {
      const keeper = await host.connect('secrets');
      await keeper.serve(contracts.secrets, { 'secrets.storageKey': serveStorageKey(STORAGE_KEY), ...secrets }, { version: '0.0.0' });
      await options.prepare?.(host);
    },
    settings: { browser: { enabled: true, timeoutMs: 5_000, ...options.settings?.browser } },
  });
}
