/** The arguments of a skill, as words. */
export interface SkillArguments {
  words: readonly string[];
  /** Values of words such as `key=value`; the last one wins. */
  named: ReadonlyMap<string, string>;
}

const NAMED_WORD = /^([A-Za-z_][\w-]{0,63})=([\s\S]*)$/;

/** Splits arguments like a shell does, without any expansion. */
export function parseArguments(text: string): SkillArguments {
  const words = splitWords(text);
  const named = new Map<string, string>();
  for (const word of words) {
    const found = NAMED_WORD.exec(word);
    if (found) named.set(found[1] ?? '', found[2] ?? '');
  }
  return { words, named };
}

/** Spaces, characters without meaning, or one character that can open a quote. */
const TOKEN = /\s+|[^\s"']+|["']/g;

/**
 * Quotes at the start of a word or after `=` keep spaces together; `\"` and `\\` are characters of a text in double quotes. A quote
 * within a word, as in `don't`, and a quote without an end are ordinary characters.
 */
function splitWords(text: string): string[] {
  const words: string[] = [];
  let parts: string[] = [];
  const unclosed = new Set<string>();
  const token = new RegExp(TOKEN);
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [found] = match;
    const isQuote = found === '"' || found === "'";
    if (!isQuote && found.trim() === '') {
      if (parts.length > 0) words.push(parts.join(''));
      parts = [];
      continue;
    }
    const opens = isQuote && !unclosed.has(found) && (parts.at(-1)?.endsWith('=') ?? true);
    const end = opens ? findQuoteEnd(text, match.index) : -1;
    if (opens && end === -1) unclosed.add(found);
    parts.push(end === -1 ? found : readQuoted(text, match.index, end));
    if (end !== -1) token.lastIndex = end + 1;
  }
  if (parts.length > 0) words.push(parts.join(''));
  return words;
}

function findQuoteEnd(text: string, start: number): number {
  const quote = text[start] ?? '';
  if (quote === "'") return text.indexOf(quote, start + 1);
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote) return at;
  }
  return -1;
}

function readQuoted(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end);
  return text[start] === '"' ? inner.replace(/\\(["\\])/g, '$1') : inner;
}
