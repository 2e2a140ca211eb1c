/** A server-sent event. An event that only carries an id has no data. */
export interface ServerEvent {
  event: string;
  data: string;
  id: string | undefined;
}

const MAX_BUFFER = 16 * 1024 * 1024;

/** Parses `text/event-stream` from chunks of any size. An incomplete event at the end is dropped, as the standard requires. */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  let block: string[] = [];
  for await (const chunk of chunks) {
    const { lines, remainder } = splitLines(rest + decoder.decode(chunk, { stream: true }));
    rest = remainder;
    if (rest.length > MAX_BUFFER) throw new RangeError(`a line of the stream is longer than ${MAX_BUFFER} characters`);
    for (const line of lines) {
      if (line !== '') {
        block.push(line);
        continue;
      }
      const event = parseBlock(block);
      block = [];
      if (event) yield event;
    }
  }
}

/** Splits complete lines. A trailing carriage return is kept, because it may be the first half of a line break. */
function splitLines(text: string): { lines: string[]; remainder: string } {
  const held = text.endsWith('\r') ? '\r' : '';
  const lines = text.slice(0, text.length - held.length).split(/\r\n|\n|\r/);
  const remainder = (lines.pop() ?? '') + held;
  return { lines, remainder };
}

function parseBlock(lines: readonly string[]): ServerEvent | undefined {
  const data: string[] = [];
  let event = 'message';
  let id: string | undefined;
  for (const line of lines) {
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id' && !value.includes('\0')) id = value;
  }
  return data.length === 0 && id === undefined ? undefined : { event, data: data.join('\n'), id };
}
