import { State, type MsgArg, type Parser } from '@nats-io/nats-core/internal';

const [CR, LF, SPACE] = [0x0d, 0x0a, 0x20] as const;
const [H, M, S, G] = [0x48, 0x4d, 0x53, 0x47] as const;
const [ZERO, NINE] = [0x30, 0x39] as const;
/** The client takes no number with more. */
const MOST_DIGITS = 15;

/** The part of the client that hears the server. */
interface Protocol {
  parser: Parser;
  processMsg(head: Head, payload: Uint8Array): void;
}

/** As the client has it, whose `reply` is left out where there is none. */
type Head = Omit<MsgArg, 'reply'> & { reply?: Uint8Array | undefined };

/**
 * Messages that stand whole in what was read from the server are taken from it at a glance: the client goes through their heads byte
 * by byte and makes four small arrays of each. All other bytes are the client's, up to the end of what it reads with them.
 */
export function readWholeMessages(protocol: Protocol): void {
  let parser = atAGlance(protocol, protocol.parser);
  // Each connection to a server gets a parser of its own.
  Object.defineProperty(protocol, 'parser', {
    get: () => parser,
    set(next: Parser) {
      parser = atAGlance(protocol, next);
    },
  });
}

function atAGlance(protocol: Protocol, parser: Parser): Parser {
  const parse = parser.parse.bind(parser);
  parser.parse = (read) => {
    const bytes = Buffer.isBuffer(read) ? read : Buffer.from(read.buffer, read.byteOffset, read.length);
    for (let at = 0; at < bytes.length;) {
      if (parser.state === State.OP_START) at = takeMessages(protocol, bytes, at);
      if (at === bytes.length) return;
      const end = operationEnd(parser, bytes, at);
      parse(bytes.subarray(at, end));
      at = end;
    }
  };
  return parser;
}

/** How far the client has to read until it may be between two operations. A payload is one piece to it, however many lines it has. */
function operationEnd({ state, ma, msgBuf }: Parser, bytes: Buffer, at: number): number {
  if (state === State.MSG_PAYLOAD && msgBuf) return Math.min(at + ma.size - msgBuf.length + 2, bytes.length);
  return bytes.indexOf(LF, at) + 1 || bytes.length;
}

/** Returns where what is no whole message begins. */
function takeMessages(protocol: Protocol, bytes: Buffer, from: number): number {
  for (let at = from; ;) {
    const head = new WholeHead(bytes);
    if (!head.read(at)) return at;
    const end = head.end + head.size;
    if (bytes[end] !== CR || bytes[end + 1] !== LF) return at;
    protocol.processMsg(head, bytes.subarray(head.end, end));
    at = end + 2;
  }
}

/** The head of a message, left where it stands in what was read. A class, because one is made for every message. */
export class WholeHead implements Head {
  sid = -1;
  hdr = -1;
  size = -1;
  /** Where the payload begins. */
  end = 0;
  readonly #bytes: Buffer;
  #subjectFrom = 0;
  #subjectTo = 0;
  #replyFrom = 0;
  #replyTo = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get subject(): Uint8Array {
    return this.#bytes.subarray(this.#subjectFrom, this.#subjectTo);
  }

  get reply(): Uint8Array | undefined {
    return this.#replyTo === 0 ? undefined : this.#bytes.subarray(this.#replyFrom, this.#replyTo);
  }

  subjectText(): string {
    return this.#bytes.toString('latin1', this.#subjectFrom, this.#subjectTo);
  }

  replyText(): string | undefined {
    return this.#replyTo === 0 ? undefined : this.#bytes.toString('latin1', this.#replyFrom, this.#replyTo);
  }

  /** `MSG subject sid [reply] size`, or `HMSG` with the size of the headers before that of all. False for anything else. */
  read(from: number): boolean {
    const bytes = this.#bytes;
    const headers = bytes[from] === H ? 1 : 0;
    const verb = from + headers;
    if (bytes[verb] !== M || bytes[verb + 1] !== S || bytes[verb + 2] !== G || bytes[verb + 3] !== SPACE) return false;
    const subjectTo = wordEnd(bytes, (this.#subjectFrom = verb + 4));
    const sidTo = wordEnd(bytes, subjectTo + 1);
    const thirdTo = wordEnd(bytes, sidTo + 1);
    this.#subjectTo = subjectTo;
    this.sid = numberAt(bytes, subjectTo + 1, sidTo);
    let last = sidTo;
    if (bytes[thirdTo] === SPACE && (headers === 0 || bytes[wordEnd(bytes, thirdTo + 1)] === SPACE)) {
      this.#replyFrom = sidTo + 1;
      last = this.#replyTo = thirdTo;
    }
    if (headers === 1) {
      const hdrTo = wordEnd(bytes, last + 1);
      this.hdr = numberAt(bytes, last + 1, hdrTo);
      last = hdrTo;
    }
    const lineTo = wordEnd(bytes, last + 1);
    this.size = numberAt(bytes, last + 1, lineTo);
    this.end = lineTo + 2;
    const sizes = this.size >= 0 && (headers === 0 || (this.hdr >= 0 && this.hdr <= this.size));
    return sizes && this.sid >= 0 && subjectTo > this.#subjectFrom && bytes[lineTo] === CR && bytes[lineTo + 1] === LF;
  }
}

/** Where a word ends that begins at `from`: at a space or at the end of the line. */
function wordEnd(bytes: Buffer, from: number): number {
  let at = from;
  for (; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === SPACE || byte === CR) break;
  }
  return at;
}

/** -1 for what is no number. */
function numberAt(bytes: Buffer, from: number, to: number): number {
  if (to <= from || to - from > MOST_DIGITS) return -1;
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = bytes[at] as number;
    if (digit < ZERO || digit > NINE) return -1;
    value = value * 10 + digit - ZERO;
  }
  return value;
}
