import { ServiceError } from '@switchyard/contracts';
import type { Egress, EgressResponse } from '@switchyard/egress';

export interface DownloadOptions {
  signal: AbortSignal;
  maxBytes: number;
  accept?: string;
}

/** Downloads files from public addresses, without cookies and credentials. */
export interface Downloads {
  /**
   * Throws NOT_FOUND for a missing file, PERMISSION_DENIED for an address that must not be called, FAILED_PRECONDITION for a file above
   * `maxBytes`, and UNAVAILABLE otherwise. A failure of the host or of the network is tried again once.
   */
  get(url: string, options: DownloadOptions): Promise<Uint8Array>;
}

/** Below the deadline of the method, so that the caller sees the error of the host. */
const TIMEOUT_MS = 50_000;
const MAX_SHOWN_CHARS = 300;

export function createDownloads(egress: Egress, now: () => number): Downloads {
  async function getOnce(url: string, { signal, maxBytes, accept = '*/*' }: DownloadOptions): Promise<Uint8Array> {
    try {
      const response = await egress.fetch(url, {
        headers: { accept, 'user-agent': 'switchyard' },
        signal,
        maxBytes,
        timeoutMs: TIMEOUT_MS,
      });
      if (response.ok) return new Uint8Array(await response.arrayBuffer());
      await response.body?.cancel();
      throw createStatusError(url, response, now());
    } catch (error) {
      throw convertBlocked(error);
    }
  }

  return {
    async get(url, options) {
      try {
        return await getOnce(url, options);
      } catch (error) {
        if (!isTransient(error) || options.signal.aborted) throw error;
        return await getOnce(url, options);
      }
    },
  };
}

function isTransient(error: unknown): boolean {
  if (!(error instanceof ServiceError) || error.code !== 'UNAVAILABLE') return false;
  const { reason, retryable } = error.details;
  return reason === 'UPSTREAM_UNREACHABLE' || (reason === 'UPSTREAM_STATUS' && retryable === true);
}

function createStatusError(url: string, { status, headers }: EgressResponse, now: number): ServiceError {
  const shown = url.slice(0, MAX_SHOWN_CHARS);
  if (status === 404 || status === 410) return new ServiceError('NOT_FOUND', `${shown} does not exist (status ${status}).`);
  const { hostname } = new URL(url);
  const isLimited = status === 429 || (status === 403 && (headers.get('x-ratelimit-remaining') === '0' || headers.has('retry-after')));
  if (!isLimited)
    return new ServiceError('UNAVAILABLE', `${hostname} responded with status ${status} to ${shown}`, {
      details: { reason: 'UPSTREAM_STATUS', status, retryable: status >= 500 },
    });
  const retryAfterMs = readRetryAfterMs(headers, now);
  return new ServiceError(
    'UNAVAILABLE',
    `${hostname} accepts no more requests from this address for ${Math.ceil(retryAfterMs / 1_000)} s. Try again then, or import a .zip archive.`,
    { details: { reason: 'UPSTREAM_RATE_LIMIT', retryable: true, retryAfterMs } },
  );
}

const DEFAULT_RETRY_AFTER_MS = 60_000;
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Reads `retry-after` in seconds, or `x-ratelimit-reset` in seconds since 1970. */
function readRetryAfterMs(headers: Headers, now: number): number {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const reset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN);
  const waitMs = Number.isFinite(seconds) ? seconds * 1_000 : reset * 1_000 - now;
  return Number.isFinite(waitMs) ? Math.min(Math.max(Math.ceil(waitMs), 1_000), MAX_RETRY_AFTER_MS) : DEFAULT_RETRY_AFTER_MS;
}

function convertBlocked(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { reason } = error.details;
  if (reason === 'ADDRESS_BLOCKED' || reason === 'PORT_BLOCKED')
    return new ServiceError('PERMISSION_DENIED', `url: ${error.message}`, { details: { reason }, cause: error });
  if (reason === 'TOO_MANY_REDIRECTS') return new ServiceError('UNAVAILABLE', error.message, { details: { reason }, cause: error });
  return error;
}
