import { SECRET_PATTERNS, type SecretPattern } from './secret-patterns.ts';

/** Takes secrets out of a text that comes in pieces, wherever it is cut. */
export interface OutputGuard {
  /** What of all so far may be said now. What could be the beginning of a secret waits for what follows. */
  push: (piece: string) => string;
  /** The rest, when nothing follows any more. */
  end: () => string;
  /** Names of what was taken out, each once. */
  readonly found: readonly string[];
}

/** A word begins here: also behind an escape such as `\n`, whose letter belongs to no word. */
const WORD_BEGINS = String.raw`(?<!(?<!\\)\w)`;
const SECRET = new RegExp(SECRET_PATTERNS.map(({ head, anywhere }) => `(${anywhere ? '' : WORD_BEGINS}${head})`).join('|'), 'g');
/** How much of what was said before decides whether a word begins. */
const LOOKED_BACK = 2;

const SPACE = 32;
const KEY_BEGINS = '-----BEGIN ';
const PREFIXES = SECRET_PATTERNS.flatMap(({ prefixes }) => prefixes);
const FIRST_LETTERS = new Set([...'0123456789'.split(''), ...PREFIXES.map((prefix) => prefix.charAt(0))]);
/** What a secret with a prefix consists of, while it is not whole. */
const OPEN_RUN = /^[\w.-]*$/;
const OPEN_KEY = /^-----BEGIN [A-Z ]{0,60}(?:-{1,5}(?:\s|\\[nr]?){0,20}[A-Za-z0-9+/=]{0,19})?$/;
const OPEN_DIGITS = /^\d{1,10}(?::(?:A(?:A[\w-]{0,32})?)?)?$/;
/** No beginning of a secret is longer before it is surely one. */
const MOST_HELD = 160;

export function createOutputGuard(): OutputGuard {
  const found = new Set<string>();
  let held = '';
  /** What came last before what is held. */
  let before = '';
  /** The secret that is being left out. */
  let within: SecretPattern | undefined;

  /** What may be said of a text; the others of it are gone or held. */
  function read(text: string, last: boolean): string {
    const whole = before + text;
    let said = '';
    let at = before.length;
    for (SECRET.lastIndex = at; ;) {
      const match = SECRET.exec(whole);
      if (!match) break;
      const pattern = patternOf(match);
      found.add(pattern.name);
      said += `${whole.slice(at, match.index)}[REDACTED:${pattern.name}]`;
      at = endOf(pattern, whole, SECRET.lastIndex);
      within = at === whole.length ? pattern : undefined;
      SECRET.lastIndex = at;
    }
    const open = last ? whole.length : openFrom(whole, at);
    held = whole.slice(open);
    before = whole.slice(Math.max(0, open - LOOKED_BACK), open);
    return said + whole.slice(at, open);
  }

  return {
    get found() {
      return [...found];
    },
    push(piece) {
      const at = within ? endOf(within, piece, 0) : 0;
      if (at < piece.length) within = undefined;
      return at < piece.length ? read(held + piece.slice(at), false) : '';
    },
    end: () => (held === '' ? '' : read(held, true)),
  };
}

function patternOf(match: RegExpExecArray): SecretPattern {
  return SECRET_PATTERNS[match.slice(1).findIndex((group) => group !== undefined)] as SecretPattern;
}

/** Where what belongs to a secret ends. */
function endOf({ tail }: SecretPattern, text: string, from: number): number {
  let at = from;
  while (at < text.length && tail.test(text.charAt(at))) at += 1;
  return at;
}

/** From where on a text could be the beginning of a secret; its length where nothing of it could. */
function openFrom(text: string, from: number): number {
  const least = Math.max(from, text.length - MOST_HELD);
  const key = text.lastIndexOf(KEY_BEGINS);
  if (key >= least && OPEN_KEY.test(text.slice(key))) return key;
  // All others are one word.
  for (let at = wordsEnd(text, least); at < text.length; at += 1) {
    if (FIRST_LETTERS.has(text.charAt(at)) && beginsWord(text, at) && beginsSecret(text.slice(at))) return at;
  }
  return text.length;
}

/** Where what stands at the end without white space begins. */
function wordsEnd(text: string, least: number): number {
  let at = text.length;
  while (at > least && text.charCodeAt(at - 1) > SPACE) at -= 1;
  return at;
}

function beginsWord(text: string, at: number): boolean {
  return at === 0 || text[at] === '-' || !/\w/.test(text.charAt(at - 1)) || text[at - 2] === '\\';
}

function beginsSecret(text: string): boolean {
  for (const prefix of PREFIXES) {
    if (text.length <= prefix.length ? prefix.startsWith(text) : text.startsWith(prefix) && OPEN_RUN.test(text)) return true;
  }
  return OPEN_DIGITS.test(text);
}
