/** Header names. Written and read by this package only. */
export const REQUEST = 'Sy-Request';
export const PRINCIPAL = 'Sy-Principal';
export const TIMEOUT = 'Sy-Timeout';
export const FRAME = 'Sy-Frame';
export const SEQ = 'Sy-Seq';
export const BLOB = 'Sy-Blob';
export const KEY = 'Sy-Key';
export const SEAL = 'Sy-Seal';
export const TRACEPARENT = 'traceparent';

/** Kind of a stream frame. A failed unary reply is an `error` frame as well. */
export type FrameKind = 'chunk' | 'result' | 'error' | 'alive';

declare const checked: unique symbol;

/** Header lines in wire format, each with a leading CRLF. Only this file creates them, so they are validated once. */
export type HeaderLines = string & { readonly [checked]: true };

const PRINTABLE = /^[\x20-\x7e]*$/;
/** Bytes of `NATS/1.0` and of the two line ends after the headers. */
const FRAMING_BYTES = 12;

/** Header values are one line of printable ASCII. Other characters could inject a header. */
export function isHeaderValue(value: string): boolean {
  return PRINTABLE.test(value);
}

/** Returns an external text as a header value, or undefined if it is not valid. */
export function toHeaderValue(value: string | undefined): string | undefined {
  return value !== undefined && value.length <= 256 && isHeaderValue(value) ? value : undefined;
}

/** Formats headers. Throws on an invalid value. Names are constants and are not checked. */
export function formatHeaders(...headers: readonly (readonly [name: string, value: string])[]): HeaderLines {
  let lines = '';
  for (const [name, value] of headers) {
    if (!PRINTABLE.test(value)) throw new TypeError(`${name}: a header value is one line of printable ASCII`);
    lines += `\r\n${name}: ${value}`;
  }
  return lines as HeaderLines;
}

/** Formats the headers of a stream frame. */
export function formatFrameHeaders(seq: number, kind: FrameKind): HeaderLines {
  return `\r\n${SEQ}: ${seq}\r\n${FRAME}: ${kind}` as HeaderLines;
}

export function joinHeaders(first: HeaderLines, second: HeaderLines): HeaderLines {
  return (first + second) as HeaderLines;
}

/** Appends headers to optional existing ones. */
export function addHeaders(lines: HeaderLines | undefined, line: HeaderLines): HeaderLines {
  return lines === undefined ? line : joinHeaders(lines, line);
}

/** Headers of a request from the gateway. The principal is encoded once per token and not per call. */
export interface CallHead {
  /** From `encodePrincipal`. */
  principal: HeaderLines;
  requestId: string;
  timeoutMs: number;
  traceparent?: string;
  key?: string;
  /** Seal of a call with sealed members, from `formatSeal`. */
  seal?: string;
}

/**
 * Formats the headers of a request. The timeout is sent if it is shorter than `deadlineMs` of the method. Ids come from clients and are
 * omitted if they are not valid header values.
 */
export function formatRequestHeaders(
  { principal, timeoutMs, requestId, traceparent, key, seal }: CallHead,
  deadlineMs: number,
): HeaderLines {
  const id = toHeaderValue(requestId);
  const trace = toHeaderValue(traceparent);
  let lines: string = principal;
  if (timeoutMs < deadlineMs) lines += `\r\n${TIMEOUT}: ${Math.ceil(timeoutMs)}`;
  if (id !== undefined) lines += `\r\n${REQUEST}: ${id}`;
  if (trace !== undefined) lines += `\r\n${TRACEPARENT}: ${trace}`;
  if (key !== undefined) lines += formatHeaders([KEY, key]);
  if (seal !== undefined) lines += formatHeaders([SEAL, seal]);
  return lines as HeaderLines;
}

/** Wire size of the headers. All adapters count it the same way. */
export function measureHeaders(lines: HeaderLines | undefined): number {
  return lines === undefined ? 0 : FRAMING_BYTES + lines.length;
}

const linePrefixes = new Map<string, string>();

/** Caches the prefix of each header name. The number of names is small and fixed. */
function getLinePrefix(name: string): string {
  let start = linePrefixes.get(name);
  if (start === undefined) linePrefixes.set(name, (start = `\r\n${name}: `));
  return start;
}

/** Finds a header in header lines, or in a complete header block. */
export function findHeader(lines: string | undefined, name: string): string | undefined {
  if (lines === undefined) return undefined;
  const line = getLinePrefix(name);
  const at = lines.indexOf(line);
  if (at === -1) return undefined;
  const from = at + line.length;
  const end = lines.indexOf('\r\n', from);
  return end === -1 ? lines.slice(from) : lines.slice(from, end);
}
