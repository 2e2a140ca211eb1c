/** One event of a server-sent stream. An event that only carries an id has no data. */
export interface ServerEvent {
  event: string;
  data: string;
  id: string | undefined;
}

const MAX_BUFFER = 16 * 1024 * 1024;

/** Reads `text/event-stream` however it is cut into chunks. An event that the end cuts off is dropped, as the standard says. */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  let block: string[] = [];
  for await (const chunk of chunks) {
    const { lines, remainder } = splitLines(rest + decoder.decode(chunk, { stream: true }));
    rest = remainder;
    if (rest.length > MAX_BUFFER) throw new RangeError('a line of the stream has no end');
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

/** A carriage return at the very end may be half of a line break, so it waits for what follows. */
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
