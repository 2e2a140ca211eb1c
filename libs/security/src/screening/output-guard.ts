import { SECRET_PATTERNS, type SecretPattern } from './secret-patterns.ts';

/** Redacts secrets in a stream of text pieces, wherever the text is split. */
export interface OutputGuard {
  /** Returns the text that can be sent now. A possible beginning of a secret is held back. */
  push: (piece: string) => string;
  /** Returns the rest after the last piece. */
  end: () => string;
  /** Names of the redacted kinds of secrets. */
  readonly found: readonly string[];
}

/** The beginning of a word, also after an escape such as `\n`. */
const WORD_BEGINS = String.raw`(?<!(?<!\\)\w)`;
const SECRET = new RegExp(SECRET_PATTERNS.map(({ head, anywhere }) => `(${anywhere ? '' : WORD_BEGINS}${head})`).join('|'), 'g');
/** Characters of context that decide whether a word begins. */
const CONTEXT_CHARS = 2;

const SPACE = 32;
const KEY_BEGINS = '-----BEGIN ';
const PREFIXES = SECRET_PATTERNS.flatMap(({ prefixes }) => prefixes);
const FIRST_LETTERS = new Set([...'0123456789'.split(''), ...PREFIXES.map((prefix) => prefix.charAt(0))]);
/** The characters of an incomplete secret with a prefix. */
const OPEN_RUN = /^[\w.-]*$/;
const OPEN_KEY = /^-----BEGIN [A-Z ]{0,60}(?:-{1,5}(?:\s|\\[nr]?){0,20}[A-Za-z0-9+/=]{0,19})?$/;
const OPEN_DIGITS = /^\d{1,10}(?::(?:A(?:A[\w-]{0,32})?)?)?$/;
/** A possible beginning of a secret is never longer. */
const MAX_HELD_CHARS = 160;

export function createOutputGuard(): OutputGuard {
  const found = new Set<string>();
  let held = '';
  /** The last characters before the held text. */
  let before = '';
  /** The secret that is being redacted. */
  let openSecret: SecretPattern | undefined;

  /** Returns the part that can be sent. The rest is redacted or held back. */
  function read(text: string, last: boolean): string {
    const combined = before + text;
    let output = '';
    let at = before.length;
    for (SECRET.lastIndex = at; ;) {
      const match = SECRET.exec(combined);
      if (!match) break;
      const pattern = findPattern(match);
      found.add(pattern.name);
      output += `${combined.slice(at, match.index)}[REDACTED:${pattern.name}]`;
      at = findSecretEnd(pattern, combined, SECRET.lastIndex);
      openSecret = at === combined.length ? pattern : undefined;
      SECRET.lastIndex = at;
    }
    const open = last ? combined.length : findOpenStart(combined, at);
    held = combined.slice(open);
    before = combined.slice(Math.max(0, open - CONTEXT_CHARS), open);
    return output + combined.slice(at, open);
  }

  return {
    get found() {
      return [...found];
    },
    push(piece) {
      const at = openSecret ? findSecretEnd(openSecret, piece, 0) : 0;
      if (at < piece.length) openSecret = undefined;
      return at < piece.length ? read(held + piece.slice(at), false) : '';
    },
    end: () => (held === '' ? '' : read(held, true)),
  };
}

function findPattern(match: RegExpExecArray): SecretPattern {
  return SECRET_PATTERNS[match.slice(1).findIndex((group) => group !== undefined)] as SecretPattern;
}

/** Finds the end of a secret. */
function findSecretEnd({ tail }: SecretPattern, text: string, from: number): number {
  let at = from;
  while (at < text.length && tail.test(text.charAt(at))) at += 1;
  return at;
}

/** The position from which the text could be the beginning of a secret, or its length. */
function findOpenStart(text: string, from: number): number {
  const min = Math.max(from, text.length - MAX_HELD_CHARS);
  const key = text.lastIndexOf(KEY_BEGINS);
  if (key >= min && OPEN_KEY.test(text.slice(key))) return key;
  // All other secrets are single words.
  for (let at = findLastWord(text, min); at < text.length; at += 1) {
    if (FIRST_LETTERS.has(text.charAt(at)) && beginsWord(text, at) && beginsSecret(text.slice(at))) return at;
  }
  return text.length;
}

/** The start of the last word. */
function findLastWord(text: string, min: number): number {
  let at = text.length;
  while (at > min && text.charCodeAt(at - 1) > SPACE) at -= 1;
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
