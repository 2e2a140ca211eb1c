import type { IncomingMessage } from 'node:http';

type Head = Pick<IncomingMessage, 'url' | 'headers' | 'rawHeaders'>;

/**
 * Returns whether a request names two authorities: by a second `Host` header, or by an absolute target with another authority than its
 * `Host` (RFC 9112, section 3.2). A proxy and the gateway could each believe another one.
 */
export function hasConflictingAuthority({ url = '/', headers: { host }, rawHeaders }: Head): boolean {
  return countHosts(rawHeaders) > 1 || (!url.startsWith('/') && url !== '*' && !isSameAuthority(url, host));
}

/** Node keeps the first of several `Host` headers and drops the others from `headers`. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

function isSameAuthority(target: string, host: string | undefined): boolean {
  const absolute = URL.parse(target);
  return absolute !== null && host !== undefined && absolute.host === URL.parse(`${absolute.protocol}//${host}`)?.host;
}
