/** A message or a summary as input of a summarizer. */
export interface Line {
  role: string;
  text: string;
}

export interface Chunking {
  /** Maximum characters of a chunk. */
  maxChars: number;
  /** Number of lines repeated in the next chunk, if they take at most half of it. */
  overlap: number;
}

/** Length of the JSON around a message. */
export const AROUND_CHARS = 40;
/** Maximum number of chunks. Longer input has each line truncated, which bounds the number of model calls. */
const MAX_CHUNKS = 10;

/** Splits lines into chunks that fit into one prompt. A line longer than a chunk is split. */
export function getChunks(lines: readonly Line[], { maxChars, overlap }: Chunking): Line[][] {
  if (getSize(lines) <= maxChars) return [[...lines]];
  const isComplete = getSize(lines) <= maxChars * MAX_CHUNKS;
  const each = Math.max(1, Math.floor((maxChars * MAX_CHUNKS) / lines.length) - AROUND_CHARS);
  const pieces = lines.flatMap(({ role, text }) =>
    getPieces(isComplete ? text : text.slice(0, each), Math.max(1, maxChars - AROUND_CHARS)).map((piece) => ({ role, text: piece })),
  );
  const chunks: Line[][] = [];
  let open: Line[] = [];
  for (const piece of pieces) {
    if (open.length > 0 && getSize([...open, piece]) > maxChars) {
      chunks.push(open);
      const shared = overlap === 0 ? [] : open.slice(-overlap);
      open = getSize(shared) <= maxChars / 2 && getSize([...shared, piece]) <= maxChars ? shared : [];
    }
    open = [...open, piece];
  }
  return [...chunks, open];
}

export function getSize(lines: readonly Line[]): number {
  return lines.reduce((sum, { text }) => sum + text.length + AROUND_CHARS, 0);
}

/** Splits a text without splitting surrogate pairs. */
function getPieces(text: string, max: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length || pieces.length === 0;) {
    let end = at + max;
    if (max > 1 && /^[\uDC00-\uDFFF]/.test(text.slice(end, end + 1))) end -= 1;
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}
