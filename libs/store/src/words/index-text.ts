import { splitWords, type Word } from './split-words.ts';

/** Precedes an identifier in an index text. The full-text index ignores it. */
export const IDENTIFIER_MARK = '#';

/**
 * Returns the form of a text that full-text indexes store: folded tokens, separated by spaces. A query finds a word if the tokens of the
 * word follow each other here.
 */
export function buildIndexText(text: string): string {
  return splitWords(text).map(getTokens).join(' ');
}

/**
 * Returns the tokens of a word, separated by spaces. An identifier is followed by its parts. An unspaced sequence becomes the pairs of
 * neighbouring characters, so that every word inside it is found, and its last character, which separates it from the next sequence.
 */
export function getTokens({ text, kind, parts }: Word): string {
  if (kind === 'identifier') return parts ? `${IDENTIFIER_MARK} ${text} ${parts.join(' ')}` : `${IDENTIFIER_MARK} ${text}`;
  if (kind === 'word') return text;
  const { pairs, last } = getPairs(text);
  return `${pairs} ${last}`.trimStart();
}

/** Returns the pairs of neighbouring characters, separated by spaces, and the last character. */
export function getPairs(text: string): { pairs: string; last: string } {
  const characters = Array.from(text);
  const pairs = characters.slice(1).map((character, at) => `${characters[at]}${character}`);
  return { pairs: pairs.join(' '), last: characters.at(-1) ?? '' };
}
