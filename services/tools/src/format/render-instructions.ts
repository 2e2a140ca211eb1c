import { MAX } from '@switchyard/contracts';
import { parseArguments, type SkillArguments } from './arguments.ts';
import { sanitizeText } from './sanitize-text.ts';

/** Options of the text that a model reads. */
export interface RenderOptions {
  /** Arguments of the caller, as one text. */
  args: string;
  /** Characters of the text; a longer one is cut and says so. */
  maxChars: number;
}

/** Largest instructions, and largest arguments after them. Together with their markers they fit into a text of a contract. */
const MAX_PART_CHARS = MAX.text / 2 - 256;
const PLACEHOLDER = /\$ARGUMENTS\b|\$@|\$\{@:([1-9]\d?)\}|\$([1-9]\d?)(?!\d)|\{([A-Za-z_][\w-]{0,63})\}/g;

/**
 * Returns the instructions of a skill for a model: sanitized, with the arguments of the caller, and cut at `maxChars`. Placeholders:
 *
 * - `$ARGUMENTS`: the arguments as the caller wrote them
 * - `$1` to `$99`: one word of them; empty if there are fewer
 * - `$@`: all words, separated by one space; `${@:N}`: the words from the Nth
 * - `{name}`: the value of the word `name=value`; stays as it is without such a word
 *
 * Quotes keep the spaces of a word. Arguments are inserted once, as they are, and are never expanded.
 * Arguments follow the text if it has no placeholder for them, also if the text was cut.
 */
export function renderInstructions(body: string, { args, maxChars }: RenderOptions): string {
  const limit = Math.min(maxChars, MAX_PART_CHARS);
  const { text, hasPlaceholder } = expand(sanitizeText(body).trim(), args, limit);
  const instructions = shorten(text, 'The skill is', limit);
  return args === '' || hasPlaceholder
    ? instructions
    : `${instructions}\n\nArguments: ${shorten(args, 'The arguments are', MAX_PART_CHARS)}`;
}

/** Stops above the limit, because few placeholders can repeat long arguments many times. */
function expand(template: string, args: string, limit: number): { text: string; hasPlaceholder: boolean } {
  const resolve = createResolver(args);
  let hasPlaceholder = false;
  let text = '';
  let from = 0;
  for (const match of template.matchAll(PLACEHOLDER)) {
    if (text.length > limit) break;
    const value = resolve(match);
    if (value === undefined) continue;
    hasPlaceholder = true;
    text += template.slice(from, match.index) + value;
    from = match.index + match[0].length;
  }
  return { text: text + template.slice(from), hasPlaceholder };
}

/** Returns the value of a placeholder; undefined if it stays as it is. */
function createResolver(args: string): (match: RegExpMatchArray) => string | undefined {
  let parsed: SkillArguments | undefined;
  const joined = new Map<number, string>();

  function join(words: readonly string[], first: number): string {
    const known = joined.get(first) ?? words.slice(first - 1).join(' ');
    joined.set(first, known);
    return known;
  }

  return ([placeholder, first, index, name]) => {
    if (placeholder === '$ARGUMENTS') return args;
    const { words, named } = (parsed ??= parseArguments(args));
    if (name !== undefined) return named.get(name);
    return index === undefined ? join(words, Number(first ?? 1)) : (words[Number(index) - 1] ?? '');
  };
}

function shorten(text: string, what: string, limit: number): string {
  return text.length <= limit ? text : `${cut(text, limit)}\n[${what} longer than ${limit} characters; the rest is missing.]`;
}

/** Never cuts a character in two. */
function cut(text: string, end: number): string {
  const code = text.charCodeAt(end - 1);
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? end - 1 : end);
}
