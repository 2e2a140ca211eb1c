import { ServiceError, type Sections } from '@switchyard/contracts';
import type { Dispatcher } from 'undici';
import { openAgent } from './agent.ts';
import { checkUrl } from './check-url.ts';
import type { AddressChecks, Reach } from './connector.ts';
import { blockedError, convertError, limitError } from './errors.ts';
import { buildHopHeaders } from './request-headers.ts';
import { checkContentLength, checkContentType, limitBody } from './response-limits.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 64 * 1024;
const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_BYTES = 10 * 1024 * 1024;
const DEFAULT_MAX_REDIRECTS = 5;
const REDIRECT_STATUS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export type EgressSettings = Pick<Sections['security'], 'permission' | 'egress'>;

export interface EgressOptions {
  /** Read for each request and connection, so that a change takes effect immediately. */
  settings: () => EgressSettings;
  /** The default is `public`. */
  reach?: Reach;
  /** Read for each connection: whether this machine may be reached by its own names. The default is no. */
  allowLoopback?: () => boolean;
}

export interface EgressRequest {
  /** The default is GET. */
  method?: string;
  /** Sent to the origin of the URL. After a redirect to another origin, only headers without credentials are sent. */
  headers?: Readonly<Record<string, string>>;
  /** Headers with credentials, by the only origin that receives them, such as `https://api.example.com`. */
  credentials?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  body?: string | Uint8Array<ArrayBuffer>;
  signal?: AbortSignal;
  /** Time for the whole exchange, including redirects and the body. The default is 30 s. */
  timeoutMs?: number;
  /** Maximum decoded bytes of the response. The default is 10 MiB. */
  maxBytes?: number;
  /** Accepted content types: complete types, or prefixes that end in `/`. The default accepts all. */
  contentTypes?: readonly string[];
  /** The default is 5. At 0 a redirect fails. */
  maxRedirects?: number;
}

/** A response whose `url` is the address after all redirects. */
export type EgressResponse = Response;

/** Sends requests to the outside. */
export interface Egress extends AsyncDisposable {
  /** As `fetch`. Throws a `ServiceError`, whose reason names what was refused. Reading the body can throw the same errors. */
  fetch(url: string | URL, request?: EgressRequest): Promise<EgressResponse>;
}

export function createEgress({ settings, reach = 'public', allowLoopback }: EgressOptions): Egress {
  const checks: AddressChecks = { reach, allowLoopback, allowHosts: () => settings().egress.allowHosts };
  let agent: Promise<Dispatcher> | undefined;

  async function send(url: URL, hop: Hop): Promise<Response> {
    checkUrl(url, settings().permission.allowedNetHosts, checks);
    agent ??= openAgent({ checks, connectTimeoutMs: CONNECT_TIMEOUT_MS, maxHeaderSize: MAX_HEADER_BYTES });
    const [dispatcher, { fetch: request }] = await Promise.all([agent, import('undici')]);
    const { method, headers, body = null, signal } = hop;
    const init = { method, headers: [...headers] as [string, string][], body, signal, redirect: 'manual' as const, dispatcher };
    return await request(url, init).catch((error: unknown) => {
      throw convertAbort(signal) ?? convertError(error, url.hostname);
    });
  }

  return {
    async fetch(address, request = {}) {
      const { maxRedirects = DEFAULT_MAX_REDIRECTS, timeoutMs = DEFAULT_TIMEOUT_MS, maxBytes = DEFAULT_MAX_BYTES } = request;
      const signal = createDeadline(request.signal, timeoutMs);
      const { headers: given, credentials = {} } = request;
      let url = parseUrl(address);
      const firstOrigin = url.origin;
      let { method = 'GET', body } = request;
      for (let redirects = 0; ; redirects++) {
        const headers = buildHopHeaders(url, { headers: new Headers(given), credentials, firstOrigin, hasBody: body !== undefined });
        const response = await send(url, { method, headers, body, signal });
        const location = REDIRECT_STATUS.has(response.status) ? response.headers.get('location') : null;
        if (location === null) return finish(response, { url, maxBytes, types: request.contentTypes, signal });
        await response.body?.cancel();
        if (redirects === maxRedirects) throw tooManyRedirects(url.hostname, maxRedirects);
        url = parseUrl(location, url);
        if (response.status === 303 || (response.status <= 302 && method === 'POST')) {
          method = method === 'HEAD' ? 'HEAD' : 'GET';
          body = undefined;
        }
      }
    },
    async [Symbol.asyncDispose]() {
      await (await agent)?.destroy();
    },
  };
}

interface Hop {
  method: string;
  headers: Headers;
  body: string | Uint8Array<ArrayBuffer> | undefined;
  signal: AbortSignal;
}

interface FinishOptions {
  url: URL;
  maxBytes: number;
  types: readonly string[] | undefined;
  signal: AbortSignal;
}

/** Applies the limits to the response. A refused response is closed without reading it. */
async function finish(response: Response, { url, maxBytes, types, signal }: FinishOptions): Promise<Response> {
  const { status, statusText, headers } = response;
  try {
    if (response.ok) checkContentType(headers.get('content-type'), types, url.hostname);
    checkContentLength(headers.get('content-length'), maxBytes, url.hostname);
  } catch (error) {
    await response.body?.cancel();
    throw error;
  }
  const body = response.body === null ? null : limitBody(convertBodyErrors(response.body, url.hostname, signal), maxBytes, url.hostname);
  const limited = new Response(body, { status, statusText, headers: new Headers([...headers]) });
  Object.defineProperty(limited, 'url', { value: url.href });
  return limited;
}

/** Reads a body, so that a reader sees errors of this library instead of those of the HTTP client. */
function convertBodyErrors(body: ReadableStream<Uint8Array>, host: string, signal: AbortSignal): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        throw convertAbort(signal) ?? convertError(error, host);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function createDeadline(signal: AbortSignal | undefined, timeoutMs: number): AbortSignal {
  const deadline = AbortSignal.timeout(timeoutMs);
  return signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
}

/** The reason of the caller's signal, or DEADLINE_EXCEEDED. */
function convertAbort(signal: AbortSignal): unknown {
  if (!signal.aborted) return undefined;
  const reason: unknown = signal.reason;
  const isTimeout = reason instanceof DOMException && reason.name === 'TimeoutError';
  return isTimeout ? new ServiceError('DEADLINE_EXCEEDED', 'the response did not end within the time limit of the request') : reason;
}

function parseUrl(address: string | URL, base?: URL): URL {
  if (!URL.canParse(String(address), base?.href)) throw blockedError(`${String(address).slice(0, 200)} is not a URL`);
  return new URL(address, base);
}

function tooManyRedirects(host: string, maxRedirects: number): Error {
  return maxRedirects === 0
    ? limitError('REDIRECT_REFUSED', `${host} redirects; the request allows no redirect`)
    : limitError('TOO_MANY_REDIRECTS', `${host} redirects more than ${maxRedirects} times`);
}
