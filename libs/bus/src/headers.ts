import type { HeaderList } from './transport.ts';

/** Written and read in this package alone. */
export const REQUEST = 'Sy-Request';
export const PRINCIPAL = 'Sy-Principal';
export const TIMEOUT = 'Sy-Timeout';
export const FRAME = 'Sy-Frame';
export const SEQ = 'Sy-Seq';
export const TRACEPARENT = 'traceparent';

/** What a frame of a stream is; a unary answer that failed is an `error` frame as well. */
export type FrameKind = 'chunk' | 'result' | 'error' | 'alive';

const PRINTABLE = /^[\x20-\x7e]*$/;
/** `NATS/1.0`, two line ends. */
const FRAMING_BYTES = 12;
/** `: ` and the line end. */
const LINE_BYTES = 4;

/** Header values are one line of printable ASCII: anything else could smuggle in a header of its own. */
export function isHeaderValue(value: string): boolean {
  return PRINTABLE.test(value);
}

/** Text from outside as a header value, or nothing where it cannot be one. */
export function headerValue(value: string | undefined): string | undefined {
  return value !== undefined && value.length <= 256 && isHeaderValue(value) ? value : undefined;
}

/** Bytes the headers take on the wire, counted alike by every adapter. */
export function headerBytes(headers: HeaderList | undefined): number {
  if (headers === undefined || headers.length === 0) return 0;
  let bytes = FRAMING_BYTES;
  for (const [name, value] of headers) bytes += name.length + value.length + LINE_BYTES;
  return bytes;
}

export function findHeader(headers: HeaderList | undefined, name: string): string | undefined {
  if (headers !== undefined) for (const header of headers) if (header[0] === name) return header[1];
  return undefined;
}

export function checkHeaders(headers: HeaderList): void {
  for (const [name, value] of headers)
    if (!PRINTABLE.test(value)) throw new TypeError(`${name}: a header value is one line of printable ASCII`);
}
