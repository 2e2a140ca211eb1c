import type { ServiceError } from '@switchyard/contracts';
import { startForwardProxy, type EgressSettings } from '@switchyard/egress';

/** Refused destinations that are remembered, so that a navigation can name the reason. */
const MAX_REFUSALS = 1_000;

export interface BrowserProxy extends AsyncDisposable {
  readonly url: string;
  /** Returns why `host:port` was refused since the given time. */
  findRefusal(host: string, since: number): ServiceError | undefined;
}

/** Starts the proxy of all browsers of this process. */
export async function startBrowserProxy(settings: () => EgressSettings, allowLoopback: () => boolean): Promise<BrowserProxy> {
  const refusals = new Map<string, { reason: ServiceError; at: number }>();
  const proxy = await startForwardProxy({
    settings,
    allowLoopback,
    requireCredentials: false,
    onRefusal(host, reason) {
      refusals.delete(host);
      refusals.set(host, { reason, at: performance.now() });
      const [oldest] = refusals.keys();
      if (refusals.size > MAX_REFUSALS && oldest !== undefined) refusals.delete(oldest);
    },
  });
  return {
    url: proxy.url,
    findRefusal(host, since) {
      const refusal = refusals.get(host);
      return refusal !== undefined && refusal.at >= since ? refusal.reason : undefined;
    },
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  };
}
