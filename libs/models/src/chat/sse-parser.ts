const BYTE_ORDER_MARK = 0xfeff;
const [LINE_FEED, CARRIAGE_RETURN, COLON, SPACE] = [0x0a, 0x0d, 0x3a, 0x20] as const;
const DATA = 'data';

/** Parses server-sent events from chunks of any size. */
export interface SseParser {
  push(bytes: Buffer): void;
  /** Ends the stream. A last event without its empty line is dispatched. */
  end(): void;
}

/** Creates a parser that passes the data of each event to `onData`. Throws a RangeError for an event larger than `maxBytes`. */
export function createSseParser(maxBytes: number, onData: (data: string) => void): SseParser {
  /** The bytes of an incomplete line. Line ends never occur inside a UTF-8 character, so complete lines can be decoded. */
  let rest: Buffer[] = [];
  let restBytes = 0;
  let data: string | undefined;
  let started = false;
  let afterReturn = false;

  function push(read: Buffer): void {
    // The line feed after a carriage return that already ended a line.
    const bytes = afterReturn && read[0] === LINE_FEED ? read.subarray(1) : read;
    afterReturn = read.at(-1) === CARRIAGE_RETURN;
    const end = Math.max(bytes.lastIndexOf(LINE_FEED), bytes.lastIndexOf(CARRIAGE_RETURN)) + 1;
    if (end > 0) readLines(decode(bytes.subarray(0, end)));
    bufferRest(bytes.subarray(end));
  }

  function bufferRest(bytes: Buffer): void {
    if (bytes.length === 0) return;
    rest.push(bytes);
    restBytes += bytes.length;
    checkSize(restBytes + (data?.length ?? 0));
  }

  function decode(bytes: Buffer): string {
    const whole = rest.length === 0 ? bytes : Buffer.concat([...rest, bytes]);
    rest = [];
    restBytes = 0;
    const text = whole.toString('utf8');
    if (started) return text;
    started = true;
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  }

  function readLines(text: string): void {
    const lines = text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text;
    for (let from = 0, end = lines.indexOf('\n'); end !== -1; from = end + 1, end = lines.indexOf('\n', from)) readLine(lines, from, end);
  }

  function readLine(lines: string, from: number, end: number): void {
    if (from === end) return dispatch();
    // Comments and other fields are ignored.
    if (!lines.startsWith(DATA, from)) return;
    const colon = from + DATA.length;
    if (colon < end && lines.charCodeAt(colon) !== COLON) return;
    const value = lines.slice(lines.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1, end);
    data = data === undefined ? value : `${data}\n${value}`;
    checkSize(data.length);
  }

  function dispatch(): void {
    if (data === undefined) return;
    const fullText = data;
    data = undefined;
    onData(fullText);
  }

  function checkSize(bytes: number): void {
    if (bytes > maxBytes) throw new RangeError(`an event larger than ${maxBytes} bytes`);
  }

  return {
    push,
    end() {
      if (restBytes > 0) push(Buffer.from('\n'));
      dispatch();
    },
  };
}
