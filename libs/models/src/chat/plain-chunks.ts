/** Tells the text of chunks that say nothing else without parsing them. */
export interface PlainChunks {
  /** The text of a chunk that differs from the last one only in it; undefined where it has to be read. */
  textOf(data: string): string | undefined;
  /** A chunk was read, and is known to have said this text and nothing else. */
  learn(data: string, text: string): void;
}

const CONTENT = '"content":';
/** What cannot stand as it is in a string of JSON, and what is written in another way than it is meant. */
// oxlint-disable-next-line no-control-regex -- JSON takes no control characters
const NOT_PLAIN = /["\\\u0000-\u001f]/;
/** An upstream whose chunks differ in more than their text is read; so many are looked at to find that out. */
const MOST_TRIES = 4;

/**
 * The chunks of a stream are nearly all alike: the same members with the same values around another piece of text. What stands around
 * it is remembered from one that was read, and a chunk in which the very same stands around a plain text is not read again, because a
 * reader could find nothing else in it.
 */
export function createPlainChunks(): PlainChunks {
  let before = '';
  let after = '';
  let tries = 0;

  return {
    textOf(data) {
      if (before === '' || data.length < before.length + after.length || !data.startsWith(before) || !data.endsWith(after))
        return undefined;
      const text = data.slice(before.length, data.length - after.length);
      if (NOT_PLAIN.test(text)) return undefined;
      tries = 0;
      return text;
    },
    learn(data, text) {
      if (tries === MOST_TRIES || text === '' || NOT_PLAIN.test(text)) return;
      tries++;
      before = '';
      // Where a member of that name stands only once, it is the one that was read: within a string its quotes would be escaped.
      const at = data.indexOf(CONTENT);
      if (at === -1 || data.includes('\\') || data.includes(CONTENT, at + 1)) return;
      const from = data.indexOf('"', at + CONTENT.length) + 1;
      if (!data.startsWith(`${text}"`, from)) return;
      before = data.slice(0, from);
      after = data.slice(from + text.length);
    },
  };
}
