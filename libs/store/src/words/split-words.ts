import { foldCase, OPTIONAL_CHARACTERS, removeMarks } from './fold-text.ts';
import { createWordCache } from './word-cache.ts';

/** A unit of a text that a query can match. */
export interface Word {
  /** Folded, so that words that differ in case or optional marks are equal. */
  text: string;
  /** `unspaced` is a sequence of characters in which words have no visible borders. */
  kind: 'word' | 'identifier' | 'unspaced';
  /** The parts of an identifier that has any. A word with digits, such as an order number, is an identifier without parts. */
  parts?: readonly string[];
}

/** Longer words are truncated. */
const MAX_WORD_LENGTH = 64;
/** Longer identifiers are truncated before they are split, because encoded data looks like an identifier with very many parts. */
const MAX_IDENTIFIER_LENGTH = 256;

/** Shorter words with digits are no identifiers, so that years and small numbers are not found by a part. */
const MIN_NUMBER_LENGTH = 5;
const HAS_DIGIT = /\p{N}/u;

const LETTERS = String.raw`\p{L}\p{N}\p{M}`;
/** Characters of scripts that are written without spaces, or that attach particles to words, as Korean does. */
const UNSPACED = String.raw`[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Bopo}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]&&[${LETTERS}]]`;
const SPACED = `[[${LETTERS}${OPTIONAL_CHARACTERS}_]--${UNSPACED}]`;
const RUN = new RegExp(`${UNSPACED}[${UNSPACED}${OPTIONAL_CHARACTERS}]*|${SPACED}+`, 'gv');
const FOLDED_RUN = new RegExp(`[${LETTERS}_]+`, 'gu');
const ASCII_RUN = /[A-Za-z0-9_]+/g;
/** Most words of English texts. They need no folding. */
const PLAIN = /^[a-z0-9]{1,64}$/;
const NOT_ASCII = /\P{ASCII}/u;
const STARTS_UNSPACED = new RegExp(`^${UNSPACED}`, 'v');
/** Borders between the parts of an identifier, such as userName, user_name and HTTPServer. */
const HAS_PARTS = /_|[^\p{Lu}_]\p{Lu}|\p{Lu}\p{Lu}[^\p{Lu}_]/u;
const PART_BORDER = /_+|(?<=[^\p{Lu}_])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}[^\p{Lu}_])/u;

const getRunWords = createWordCache(foldRun);

/** Returns the words of a text in their order. */
export function splitWords(text: string): Word[] {
  const words: Word[] = [];
  if (NOT_ASCII.test(text)) for (const run of text.match(RUN) ?? []) words.push(...getRunWords(run));
  else
    for (const run of text.match(ASCII_RUN) ?? [])
      if (PLAIN.test(run)) words.push({ text: run, kind: getKind(run) });
      else words.push(...toWords(run));
  return words;
}

/** Yields the positions of runs of letters in a text. */
export function* splitRuns(text: string): Generator<{ index: number; run: string }, void, void> {
  for (const { index, 0: run } of text.matchAll(RUN)) yield { index, run };
}

/** A folded run may contain a symbol, because the compatibility form of some letters does. */
function foldRun(run: string): Word[] {
  const isUnspaced = STARTS_UNSPACED.test(run);
  const runs = removeMarks(run).match(FOLDED_RUN) ?? [];
  return runs.flatMap((one) => (isUnspaced ? [{ text: foldCase(one), kind: 'unspaced' }] : toWords(one)));
}

/** Returns one word, or none for a run of underscores. */
function toWords(run: string): Word[] {
  if (!HAS_PARTS.test(run)) return [toWord(run)];
  const parts = run
    .slice(0, MAX_IDENTIFIER_LENGTH)
    .split(PART_BORDER)
    .filter((part) => part !== '')
    .map((part) => foldCase(part).slice(0, MAX_WORD_LENGTH));
  if (parts.length === 0) return [];
  const text = parts.join('').slice(0, MAX_WORD_LENGTH);
  return [parts.length > 1 ? { text, kind: 'identifier', parts } : toWord(text)];
}

function toWord(run: string): Word {
  const text = foldCase(run).slice(0, MAX_WORD_LENGTH);
  return { text, kind: getKind(text) };
}

function getKind(text: string): Word['kind'] {
  return text.length >= MIN_NUMBER_LENGTH && HAS_DIGIT.test(text) ? 'identifier' : 'word';
}
