import { createClient, type Client } from '@switchyard/client';

const TICK_MS = 20;

/** Background calls during a test. */
export interface Pings extends AsyncDisposable {
  /** Stops sending. Resolves when all calls have ended. */
  end(): Promise<{ requestCount: number; failed: string[] }>;
}

interface SetupOptions {
  urls: readonly string[];
  token: string;
  /** Calls per second, over all addresses. */
  aSecond: number;
}

/** Sends calls at a fixed rate, independent of their answers. */
export function startPings({ urls, token, aSecond }: SetupOptions): Pings {
  const clients: Client[] = urls.map((url) => createClient({ url, token, transport: 'ws' }));
  const failed: string[] = [];
  const open = new Set<Promise<unknown>>();
  const began = performance.now();
  let requestCount = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - began) * aSecond) / 1_000;
    for (; requestCount < due; requestCount++) {
      const call = clients[requestCount % clients.length]?.call('system.ping', {}) ?? Promise.resolve();
      const noted = call.catch((error: unknown) => void failed.push(String(error))).finally(() => open.delete(noted));
      open.add(noted);
    }
  }, TICK_MS);
  async function end(): Promise<{ requestCount: number; failed: string[] }> {
    clearInterval(timer);
    await Promise.all(open);
    for (const client of clients) client.close();
    return { requestCount, failed };
  }
  return { end, [Symbol.asyncDispose]: async () => void (await end()) };
}
