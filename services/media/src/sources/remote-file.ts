import { ServiceError } from '@switchyard/contracts';
import type { Egress } from '@switchyard/egress';
import type { FairLimiter } from '../limits/fair-limiter.ts';
import { requireUrl, toPublicError } from './public-url.ts';
import type { SourceFile } from './source-file.ts';

const MAX_REDIRECTS = 5;
const MAX_NAME_CHARS = 255;

export interface FetchOptions {
  tenant: string;
  signal: AbortSignal;
  maxBytes: number;
  timeoutMs: number;
  userAgent: string;
  accept?: string;
}

/** Downloads files from public addresses. */
export interface RemoteFiles {
  /**
   * Fails INVALID_ARGUMENT for an address that is malformed, PERMISSION_DENIED (`ADDRESS_NOT_PUBLIC`) for one that is not public, also
   * after a redirect, NOT_FOUND for a file that its host does not have, FAILED_PRECONDITION above a limit, and UNAVAILABLE otherwise.
   */
  fetch(url: string, options: FetchOptions): Promise<SourceFile>;
}

/** Sends no cookies and no credentials. */
export function createRemoteFiles(egress: Egress, limiter: FairLimiter): RemoteFiles {
  async function download(url: URL, { signal, maxBytes, timeoutMs, userAgent, accept = '*/*' }: FetchOptions): Promise<SourceFile> {
    const response = await egress.fetch(url, {
      headers: { accept, 'user-agent': userAgent },
      signal,
      timeoutMs,
      maxBytes,
      maxRedirects: MAX_REDIRECTS,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw createStatusError(url.hostname, response.status);
    }
    const bytes = new Uint8Array(await response.arrayBuffer());
    const charset = /charset\s*=\s*"?([\w.:-]{1,40})/i.exec(response.headers.get('content-type') ?? '')?.[1];
    const fileName = readFileName(response.url);
    return { bytes, url: response.url, ...(fileName === '' ? {} : { fileName }), ...(charset === undefined ? {} : { charset }) };
  }

  return {
    async fetch(address, options) {
      const url = requireUrl(address);
      return limiter
        .run(options.tenant, options.signal, () => download(url, options))
        .catch((error: unknown) => {
          throw toPublicError(error);
        });
    },
  };
}

function createStatusError(host: string, status: number): ServiceError {
  if (status === 404 || status === 410) return new ServiceError('NOT_FOUND', `${host} does not have this file (status ${status})`);
  const message = `${host} responded with status ${status}`;
  return new ServiceError('UNAVAILABLE', message, { details: { reason: 'UPSTREAM_STATUS', retryable: status === 429 || status >= 500 } });
}

function readFileName(address: string): string {
  const last = new URL(address).pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last).slice(0, MAX_NAME_CHARS);
  } catch {
    return last.slice(0, MAX_NAME_CHARS);
  }
}
