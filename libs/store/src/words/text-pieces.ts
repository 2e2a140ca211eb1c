/** A word border is searched in this many characters before the end of a piece. */
const BORDER_CHARS = 256;
/** Without a border two pieces share this many characters, so that a word at the cut is complete in one of them. */
const OVERLAP_CHARS = 64;

export interface TextPiece {
  start: number;
  text: string;
}

/** Splits a text into pieces of at most `length` characters, more than `BORDER_CHARS`, at spaces where possible, so that the caller can pause between them. */
export function* splitPieces(text: string, length: number): Generator<TextPiece, void, void> {
  let start = 0;
  while (text.length - start > length) {
    const end = start + length;
    const border = text.slice(end - BORDER_CHARS, end).lastIndexOf(' ');
    const cut = border < 0 ? end : end - BORDER_CHARS + border;
    yield { start, text: text.slice(start, cut) };
    start = border < 0 ? end - OVERLAP_CHARS : cut + 1;
  }
  yield { start, text: text.slice(start) };
}
