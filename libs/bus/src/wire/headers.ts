/** Written and read in this package alone. */
export const REQUEST = 'Sy-Request';
export const PRINCIPAL = 'Sy-Principal';
export const TIMEOUT = 'Sy-Timeout';
export const FRAME = 'Sy-Frame';
export const SEQ = 'Sy-Seq';
export const BLOB = 'Sy-Blob';
export const KEY = 'Sy-Key';
export const SEAL = 'Sy-Seal';
export const TRACEPARENT = 'traceparent';

/** What a frame of a stream is; a unary answer that failed is an `error` frame as well. */
export type FrameKind = 'chunk' | 'result' | 'error' | 'alive';

declare const checked: unique symbol;

/**
 * Header lines as they stand on the wire, a line end before each. They are made in this file alone, and checked there: nobody has
 * to look at them again.
 */
export type HeaderLines = string & { readonly [checked]: true };

const PRINTABLE = /^[\x20-\x7e]*$/;
/** `NATS/1.0` before the lines, two line ends behind them. */
const FRAMING_BYTES = 12;

/** Header values are one line of printable ASCII: anything else could smuggle in a header of its own. */
export function isHeaderValue(value: string): boolean {
  return PRINTABLE.test(value);
}

/** Text from outside as a header value, or nothing where it cannot be one. */
export function toHeaderValue(value: string | undefined): string | undefined {
  return value !== undefined && value.length <= 256 && isHeaderValue(value) ? value : undefined;
}

/** Throws for a value that is no header value. Names are ours. */
export function formatHeaders(...headers: readonly (readonly [name: string, value: string])[]): HeaderLines {
  let lines = '';
  for (const [name, value] of headers) {
    if (!PRINTABLE.test(value)) throw new TypeError(`${name}: a header value is one line of printable ASCII`);
    lines += `\r\n${name}: ${value}`;
  }
  return lines as HeaderLines;
}

/** What goes with every frame of a stream. */
export function formatFrameHeaders(seq: number, kind: FrameKind): HeaderLines {
  return `\r\n${SEQ}: ${seq}\r\n${FRAME}: ${kind}` as HeaderLines;
}

export function joinHeaders(first: HeaderLines, second: HeaderLines): HeaderLines {
  return (first + second) as HeaderLines;
}

/** The lines there are, if any, and one more. */
export function addHeaders(lines: HeaderLines | undefined, line: HeaderLines): HeaderLines {
  return lines === undefined ? line : joinHeaders(lines, line);
}

/** What the edge sends along, encoded once per token rather than once per call. */
export interface CallHead {
  /** From `encodePrincipal`. */
  principal: HeaderLines;
  requestId: string;
  timeoutMs: number;
  traceparent?: string;
  key?: string;
  /** Of a call with secret members: from `sealText`. */
  seal?: string;
}

/**
 * What goes with every request. `deadlineMs` is what the method has anyway: the time is told if it is shorter. The ids come from
 * outside: what cannot be a header value is left out.
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

/** Bytes the headers take on the wire, counted alike by every adapter. */
export function measureHeaders(lines: HeaderLines | undefined): number {
  return lines === undefined ? 0 : FRAMING_BYTES + lines.length;
}

const linePrefixes = new Map<string, string>();

/** There are a few names, all of them ours or of NATS. */
function getLinePrefix(name: string): string {
  let start = linePrefixes.get(name);
  if (start === undefined) linePrefixes.set(name, (start = `\r\n${name}: `));
  return start;
}

/** Looks a header up in its lines, or in the whole block as it came. */
export function findHeader(lines: string | undefined, name: string): string | undefined {
  if (lines === undefined) return undefined;
  const line = getLinePrefix(name);
  const at = lines.indexOf(line);
  if (at === -1) return undefined;
  const from = at + line.length;
  const end = lines.indexOf('\r\n', from);
  return end === -1 ? lines.slice(from) : lines.slice(from, end);
}
