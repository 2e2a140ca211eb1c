import { isUtf8 } from 'node:buffer';
import type { Duplex } from 'node:stream';

/** First bytes of frames that are whole messages: RFC 6455, section 5.2. */
const [WHOLE_TEXT, PING, PONG] = [0x81, 0x89, 0x8a] as const;
const MASKED = 0x80;
const MASK_BYTES = 4;
const NOT_ASCII = 0x80;
/** Longer ones say their length in two bytes more, or in eight. */
const SHORT = 125;
const MEDIUM = 126;
/** What `ws` calls its listener to the bytes of a socket. */
const READER = 'socketOnData';

/** The stream below a WebSocket. */
export interface Framed {
  readonly stream: Duplex;
  /** No message is longer, in bytes. */
  readonly largest: number;
}

/** The same for all sockets: idle ones are held by the ten thousand. */
export interface FrameListener<F extends Framed> {
  /** A text message, which may be kept. */
  onText(from: F, message: Buffer): void;
  /** So many bytes go to `ws`, which will tell of what they are. */
  onOther(from: F, length: number): void;
}

/**
 * Text messages that come as frames of their own, whole, are read at a glance: what `ws` does for any frame costs more than all else
 * that is done with a short one. Pings and pongs between them are its matter. With the first bytes that are anything else, as with
 * a message in several frames or in several pieces, the socket is read by `ws` for good.
 */
export function readWholeFrames<F extends Framed>(from: F, listener: FrameListener<F>): void {
  const { stream } = from;
  const readByWs = stream.listeners('data').find(({ name }) => name === READER) as ((bytes: Buffer) => void) | undefined;
  if (readByWs === undefined) throw new TypeError('`ws` reads its sockets in another way than it did.');
  const read = (bytes: Buffer): void => {
    const rest = readTexts(from, listener, bytes);
    if (rest.length === 0) return;
    listener.onOther(from, rest.length);
    if (!areHeartbeats(rest)) {
      stream.off('data', read);
      stream.on('data', ({ length }: Buffer) => listener.onOther(from, length));
      stream.on('data', readByWs);
    }
    Reflect.apply(readByWs, stream, [rest]);
  };
  stream.on('data', read);
  stream.off('data', readByWs);
}

/** Returns what follows upon the last of them. */
function readTexts<F extends Framed>(from: F, listener: FrameListener<F>, bytes: Buffer): Buffer {
  let at = 0;
  while (at < bytes.length) {
    const start = textStart(bytes, at);
    const end = start + lengthAt(bytes, at);
    if (start === 0 || end > bytes.length || end - start > from.largest || !unmask(bytes, start, end)) break;
    listener.onText(from, bytes.subarray(start, end));
    at = end;
  }
  return at === 0 ? bytes : bytes.subarray(at);
}

/** Where the bytes of a text begin whose frame begins at `at`; 0 where no such frame is seen. */
function textStart(bytes: Buffer, at: number): number {
  const second = bytes[at + 1];
  if (bytes[at] !== WHOLE_TEXT || second === undefined || second < MASKED) return 0;
  const length = second - MASKED;
  if (length > MEDIUM) return 0;
  const start = at + 2 + (length === MEDIUM ? 2 : 0) + MASK_BYTES;
  return start <= bytes.length ? start : 0;
}

/** How long a frame of at most medium length is. */
function lengthAt(bytes: Buffer, at: number): number {
  const length = (bytes[at + 1] ?? 0) & ~MASKED;
  return length <= SHORT ? length : ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
}

/** Makes the text readable where it stands; false, and nothing is changed, where it is no UTF-8. */
function unmask(bytes: Buffer, start: number, end: number): boolean {
  if (applyMask(bytes, start, end) < NOT_ASCII || isUtf8(bytes.subarray(start, end))) return true;
  applyMask(bytes, start, end);
  return false;
}

/** The four bytes before `start` are the mask. Twice is not at all. Returns all bits that are set in what it leaves. */
function applyMask(bytes: Buffer, start: number, end: number): number {
  const mask = start - MASK_BYTES;
  let bits = 0;
  for (let at = start; at < end; at++) {
    const byte = (bytes[at] as number) ^ (bytes[mask + ((at - start) & 3)] as number);
    bytes[at] = byte;
    bits |= byte;
  }
  return bits;
}

/** Whether they are pings and pongs to the last byte. */
function areHeartbeats(bytes: Buffer): boolean {
  let at = 0;
  while (at < bytes.length) {
    const [first, second = 0] = [bytes[at], bytes[at + 1]];
    const length = second - MASKED;
    if ((first !== PING && first !== PONG) || length < 0 || length > SHORT) return false;
    at += 2 + MASK_BYTES + length;
  }
  return at === bytes.length;
}
