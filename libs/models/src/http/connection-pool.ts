import { ServiceError } from '@switchyard/contracts';
import type { Dispatcher } from 'undici';
import { decodeResponses } from './content-encoding.ts';
import { createConcurrencyLimit, type ConcurrencyLimit, type ConcurrencyLimits } from './concurrency-limit.ts';

const LIMITS: ConcurrencyLimits = { maxRunning: 512, maxWaiting: 2_048 };
const CONNECT_TIMEOUT_MS = 10_000;
/** Default keep-alive. Shorter limits announced by a server are respected. */
const KEEP_ALIVE_MS = 30_000;
const MAX_HEADER_BYTES = 64 * 1024;

/** Pooled connections to providers, limited per origin. */
export interface ConnectionPool {
  getLimit(origin: string): ConcurrencyLimit;
  /** Releases a slot and removes the limit of an unused origin. */
  release(origin: string, limit: ConcurrencyLimit): void;
  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
}

/**
 * Opens the pool. Loads the HTTP client, so it should be called on first use. The operator configures the addresses of providers, so
 * local and private ones are allowed; metadata services are not, unless `allowHosts` lists their host.
 */
export async function openConnectionPool(
  limits: ConcurrencyLimits = LIMITS,
  allowHosts: () => readonly string[] = () => [],
): Promise<ConnectionPool> {
  const { openAgent } = await import('@switchyard/egress');
  const agent: Dispatcher = await openAgent({
    checks: { reach: 'configured', allowHosts },
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    connections: limits.maxRunning,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // One connection per call, so that a failing connection affects one call only.
    allowH2: false,
    // Callers have their own timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
    compose: decodeResponses,
  });
  const limitsByOrigin = new Map<string, ConcurrencyLimit>();
  return {
    getLimit(origin) {
      let limit = limitsByOrigin.get(origin);
      if (limit === undefined)
        limitsByOrigin.set(origin, (limit = createConcurrencyLimit(limits, () => tooManyCallsError(origin, limits))));
      return limit;
    },
    release(origin, limit) {
      limit.release();
      if (limit.empty) limitsByOrigin.delete(origin);
    },
    dispatch: (request, handler) => void agent.dispatch(request, handler),
  };
}

function tooManyCallsError(origin: string, { maxRunning, maxWaiting }: ConcurrencyLimits): ServiceError {
  return new ServiceError('RESOURCE_EXHAUSTED', `${maxRunning} calls to ${origin} are running and ${maxWaiting} are waiting; retry later`, {
    details: { reason: 'UPSTREAM_CROWDED' },
  });
}
