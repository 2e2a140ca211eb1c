import type { IncomingMessage } from 'node:http';
import type { Caller } from './caller.ts';

/** `/openai/v1/…`, also in an absolute URL. */
const LENIENT_PATH = /^(https?:\/\/[^/?#]*)?\/openai(?=\/v1\/)/i;

const lenientRequests = new WeakSet<IncomingMessage>();

/**
 * Rewrites `/openai/v1/…` to `/v1/…` and marks the request as lenient. The rewrite precedes routing, so that both paths share their
 * routes, limits, scopes and errors.
 */
export function rewriteLenientPath(request: IncomingMessage): void {
  const { url = '' } = request;
  const path = url.replace(LENIENT_PATH, '$1');
  if (path === url) return;
  request.url = path;
  lenientRequests.add(request);
}

/** Whether unsupported fields of this request are ignored: the path is lenient, or the token is. */
export function isLenient(request: IncomingMessage, { lenient }: Pick<Caller, 'lenient'>): boolean {
  return lenient || lenientRequests.has(request);
}
