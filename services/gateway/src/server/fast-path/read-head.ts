import type { IncomingHttpHeaders } from 'node:http';

/** A head that says what it says in the plainest way. */
export interface Head {
  headers: IncomingHttpHeaders;
  /** Of the body, in bytes. */
  length: number;
}

const END = '\r\n';
const NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;
const VALUE = /^[\t\x20-\x7e]*$/;
const LENGTH = /^\d{1,7}$/;
/** Node's own bound. */
const MOST_HEADERS = 100;

/** Whatever says how a message is framed, or what becomes of its connection, in another way than by `Content-Length`; and what Node makes no text of. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  'transfer-encoding',
  'te',
  'trailer',
  'expect',
  'upgrade',
  'http2-settings',
  'proxy-connection',
  'set-cookie',
]);

/**
 * Reads the header lines of a request. Undefined for everything that could be read in two ways or is rare: two headers of one name, a
 * folded line, a space before a colon, a byte that is not ASCII, another framing than `Content-Length`, no `Host`. Nobody is refused
 * for it, since Node reads it instead; so whatever is read here, Node would have read as the same.
 */
export function readHead(lines: string): Head | undefined {
  const headers = Object.create(null) as Record<string, string>;
  let count = 0;
  for (let at = 0; at < lines.length;) {
    const end = lines.indexOf(END, at);
    const colon = lines.indexOf(':', at);
    if (end < 0 || colon < 0 || colon > end || ++count > MOST_HEADERS) return undefined;
    const name = lines.slice(at, colon).toLowerCase();
    const value = lines.slice(colon + 1, end);
    if (!NAME.test(name) || !VALUE.test(value) || NOT_PLAIN.has(name) || name in headers) return undefined;
    headers[name] = value.trim();
    at = end + END.length;
  }
  const { host, connection, 'content-length': length = '' } = headers;
  if (host === undefined || !LENGTH.test(length)) return undefined;
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined;
  return { headers, length: Number(length) };
}
