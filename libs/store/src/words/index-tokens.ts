import { IDENTIFIER_MARK } from './index-text.ts';

/** Shorter tokens are found as a whole only. */
export const MIN_PART_LENGTH = 4;

/** Returns the different tokens of an index text that a query may match by a part or misspelt, and whether each is an identifier. */
export function collectTerms(indexText: string): Map<string, boolean> {
  const terms = new Map<string, boolean>();
  let isIdentifier = false;
  for (const token of indexText.split(' ')) {
    // Pairs of characters are shorter, except those of rare Chinese characters, which are surrogates.
    if (token.length >= MIN_PART_LENGTH && token < '\ud800') {
      if (isIdentifier || !terms.has(token)) terms.set(token, isIdentifier);
    }
    isIdentifier = token === IDENTIFIER_MARK;
  }
  return terms;
}

/** Finds the token around a position of an index text. `tokens` begins and ends with a space. */
export function readToken(tokens: string, position: number): { token: string; end: number; isIdentifier: boolean } {
  const start = tokens.lastIndexOf(' ', position) + 1;
  const end = tokens.indexOf(' ', start);
  return { token: tokens.slice(start, end), end, isIdentifier: tokens.startsWith(` ${IDENTIFIER_MARK}`, start - 3) };
}
