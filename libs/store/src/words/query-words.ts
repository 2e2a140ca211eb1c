import { getPairs } from './index-text.ts';
import { splitWords, type Word } from './split-words.ts';
import { STOP_WORDS } from './stop-words.ts';

/** Longer queries are truncated. */
const MAX_QUERY_LENGTH = 20_000;
/** Longer unspaced sequences are searched by their words only. */
const MAX_PHRASE_CHARACTERS = 32;

/** A word of a query. A text matches the word if it contains one of the phrases in the form of `buildIndexText`. */
export interface QueryWord extends Pick<Word, 'text' | 'kind'> {
  /** Sequences of tokens, separated by spaces. */
  phrases: readonly string[];
  /** The phrase is the beginning of a token. True for a single character of an unspaced script. */
  isPrefix: boolean;
}

/** Returns at most `max` different words of a query, without stop words. */
export function parseQuery(query: string, max: number): QueryWord[] {
  const words = new Map<string, QueryWord>();
  for (const word of splitWords(query.slice(0, MAX_QUERY_LENGTH))) {
    for (const one of toQueryWords(word)) {
      if (words.size >= max) return [...words.values()];
      if (!words.has(one.text)) words.set(one.text, one);
    }
  }
  return [...words.values()];
}

function toQueryWords({ text, kind, parts }: Word): QueryWord[] {
  if (kind === 'unspaced') return segment(text).map(toUnspacedWord);
  if (kind === 'word' && STOP_WORDS.has(text)) return [];
  // The same identifier may be written in another style: userName, user_name, username.
  return [{ text, kind, isPrefix: false, phrases: parts ? [text, parts.join(' ')] : [text] }];
}

function toUnspacedWord(text: string): QueryWord {
  const { pairs } = getPairs(text);
  return { text, kind: 'unspaced', isPrefix: pairs === '', phrases: [pairs === '' ? text : pairs] };
}

const SEGMENTER = new Intl.Segmenter('und', { granularity: 'word' });
const PARTICLE = /^\p{Script=Hiragana}$/u;
const SINGLE_HAN = /^\p{Script=Han}$/u;

/**
 * Splits a sequence without spaces into words. The whole sequence is the first of them, because the dictionary does not know all names.
 * Single Hiragana characters are particles that occur in nearly every text.
 */
function segment(text: string): string[] {
  const length = Array.from(text).length;
  if (length <= 2) return [text];
  const words = joinSingles([...SEGMENTER.segment(text)].map(({ segment: word }) => word)).filter((word) => !PARTICLE.test(word));
  return length > MAX_PHRASE_CHARACTERS && words.length > 0 ? words : [...new Set([text, ...words])];
}

/** Joins neighbouring single Chinese characters, which the dictionary yields for unknown names. */
function joinSingles(words: readonly string[]): string[] {
  const joined: string[] = [];
  let isSingle = false;
  for (const word of words) {
    const single = SINGLE_HAN.test(word);
    if (single && isSingle) joined.push(`${joined.pop()}${word}`);
    else joined.push(word);
    isSingle = single;
  }
  return joined;
}
