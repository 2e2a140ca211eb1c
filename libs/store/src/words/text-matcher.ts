import { buildIndexText } from './index-text.ts';
import { MIN_PART_LENGTH, readToken } from './index-tokens.ts';
import { parseQuery, type QueryWord } from './query-words.ts';
import { isOneEdit, isTolerant } from './spelling.ts';
import { splitRuns } from './split-words.ts';
import { splitPieces } from './text-pieces.ts';

/** Scores of a match: of the word itself, of another form of it, and of an identifier with the word or another spelling. */
const [EXACT, FORM, RELATED] = [1, 0.5, 0.25];
const MAX_WORDS = 32;
/** Maximum number of letters that another form of a word leaves out at its end. */
const MAX_ENDING_LENGTH = 4;
/** Characters that are matched before the generator yields. A message is charged more than its length, because it costs time as well. */
const STEP_CHARS = 4_096;
const MESSAGE_CHARS = 64;
/** Length of the sections of a text of which the best one is returned. */
const SECTION_CHARS = 1_000;

/** Matches texts with a query by the words that the full-text index uses. The generators yield often, so that the caller can pause. */
export interface TextMatcher {
  /** Returns a score for each word of the query, from 0 (no match) to 1. */
  score(text: string): Generator<void, readonly number[], void>;
  /** Returns the position of a match where most words of the query are near. Returns 0 without a match. */
  locate(text: string): Generator<void, number, void>;
}

export function createTextMatcher(query: string): TextMatcher {
  const words = parseQuery(query, MAX_WORDS);
  let charged = 0;

  function* scorePieces(text: string, length: number) {
    charged += MESSAGE_CHARS;
    for (const piece of splitPieces(text, length)) {
      charged += piece.text.length;
      if (charged >= STEP_CHARS) {
        charged = 0;
        yield undefined;
      }
      const tokens = ` ${buildIndexText(piece.text)} `;
      yield { piece, scores: words.map((word) => scoreWord(tokens, word)) };
    }
  }

  return {
    *score(text) {
      let best = words.map(() => 0);
      for (const step of scorePieces(text, STEP_CHARS)) {
        if (step === undefined) yield;
        else best = best.map((score, at) => Math.max(score, step.scores[at] ?? 0));
      }
      return best;
    },
    *locate(text) {
      let [position, max] = [0, 0];
      for (const step of scorePieces(text, SECTION_CHARS)) {
        if (step === undefined) yield;
        const sum = step?.scores.reduce((total, score) => total + score, 0) ?? 0;
        if (step === undefined || sum <= max) continue;
        max = sum;
        const word = words.find((_, at) => (step.scores[at] ?? 0) > 0);
        position = step.piece.start + (word ? findInSection(step.piece.text, word) : 0);
        if (sum === words.length) break;
      }
      return position;
    },
  };
}

/** `tokens` begins and ends with a space. */
function scoreWord(tokens: string, { text, kind, phrases, isPrefix }: QueryWord): number {
  if (phrases.some((phrase) => tokens.includes(isPrefix ? ` ${phrase}` : ` ${phrase} `))) return EXACT;
  if (kind === 'unspaced' || text.length < MIN_PART_LENGTH) return 0;
  if (hasOtherForm(tokens, text, kind)) return FORM;
  return isPartOfIdentifier(tokens, text) || (isTolerant(text) && isMisspelt(tokens, text)) ? RELATED : 0;
}

/** Returns whether a token begins with the word, or is a word with another ending. */
function hasOtherForm(tokens: string, word: string, kind: QueryWord['kind']): boolean {
  if (tokens.includes(` ${word}`)) return true;
  if (kind !== 'word') return false;
  for (let length = word.length - 1; length >= Math.max(MIN_PART_LENGTH, word.length - MAX_ENDING_LENGTH); length -= 1) {
    if (tokens.includes(` ${word.slice(0, length)} `)) return true;
  }
  return false;
}

function isPartOfIdentifier(tokens: string, part: string): boolean {
  let position = tokens.indexOf(part);
  while (position >= 0) {
    const { end, isIdentifier } = readToken(tokens, position);
    if (isIdentifier) return true;
    position = tokens.indexOf(part, end);
  }
  return false;
}

/** Compares the tokens with the same first letter. */
function isMisspelt(tokens: string, word: string): boolean {
  const start = ` ${String.fromCodePoint(word.codePointAt(0) ?? 0)}`;
  let position = tokens.indexOf(start);
  while (position >= 0) {
    const { token, end } = readToken(tokens, position + 1);
    if (isOneEdit(token, word)) return true;
    position = tokens.indexOf(start, end);
  }
  return false;
}

function findInSection(section: string, word: QueryWord): number {
  // The words of an identifier may be separate in the text, so its first part is searched as well.
  const firstTokens = word.phrases.map((phrase) => phrase.split(' ')[0] ?? '');
  for (const { index, run } of splitRuns(section)) {
    const tokens = ` ${buildIndexText(run)} `;
    if (firstTokens.every((token) => !tokens.includes(` ${token} `)) && scoreWord(tokens, word) === 0) continue;
    return word.kind === 'unspaced' ? index + Math.max(0, run.indexOf(word.text)) : index;
  }
  return 0;
}
