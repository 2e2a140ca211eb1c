const BYTE_ORDER_MARK = 0xfeff;
const [LINE_FEED, CARRIAGE_RETURN, COLON, SPACE] = [0x0a, 0x0d, 0x3a, 0x20] as const;
const DATA = 'data';

/** Cuts a stream of server-sent events into the data of its events, wherever the reads of the socket cut it. */
export interface EventReader {
  push(bytes: Buffer): void;
  /** Nothing follows: what lacks only its empty line counts. */
  end(): void;
}

/** `onData` gets the data of each event. Throws a RangeError when one event is larger than `maxBytes`. */
export function createEventReader(maxBytes: number, onData: (data: string) => void): EventReader {
  /** The beginning of a line. Lines end at bytes that are in no character, so none is decoded before it is whole. */
  let rest: Buffer[] = [];
  let restBytes = 0;
  let data: string | undefined;
  let begun = false;
  let afterReturn = false;

  function push(read: Buffer): void {
    // The second half of a line end whose first half ended a line already.
    const bytes = afterReturn && read[0] === LINE_FEED ? read.subarray(1) : read;
    afterReturn = read.at(-1) === CARRIAGE_RETURN;
    const end = Math.max(bytes.lastIndexOf(LINE_FEED), bytes.lastIndexOf(CARRIAGE_RETURN)) + 1;
    if (end > 0) readLines(decode(bytes.subarray(0, end)));
    keep(bytes.subarray(end));
  }

  function keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    rest.push(bytes);
    restBytes += bytes.length;
    check(restBytes + (data?.length ?? 0));
  }

  function decode(bytes: Buffer): string {
    const whole = rest.length === 0 ? bytes : Buffer.concat([...rest, bytes]);
    rest = [];
    restBytes = 0;
    const text = whole.toString('utf8');
    if (begun) return text;
    begun = true;
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  }

  function readLines(text: string): void {
    const lines = text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text;
    for (let from = 0, end = lines.indexOf('\n'); end !== -1; from = end + 1, end = lines.indexOf('\n', from)) readLine(lines, from, end);
  }

  function readLine(lines: string, from: number, end: number): void {
    if (from === end) return dispatch();
    // Comments and fields other than the data say nothing here.
    if (!lines.startsWith(DATA, from)) return;
    const colon = from + DATA.length;
    if (colon < end && lines.charCodeAt(colon) !== COLON) return;
    const value = lines.slice(lines.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1, end);
    data = data === undefined ? value : `${data}\n${value}`;
    check(data.length);
  }

  function dispatch(): void {
    if (data === undefined) return;
    const whole = data;
    data = undefined;
    onData(whole);
  }

  function check(bytes: number): void {
    if (bytes > maxBytes) throw new RangeError(`an event of more than ${maxBytes} bytes`);
  }

  return {
    push,
    end() {
      if (restBytes > 0) push(Buffer.from('\n'));
      dispatch();
    },
  };
}
