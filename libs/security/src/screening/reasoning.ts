/** Removes the reasoning of a model from a stream of text pieces. */
export interface ReasoningFilter {
  /** Returns the text that can be sent now. A possible beginning of a tag is held back. */
  push: (piece: string) => string;
  end: () => string;
}

const NAMES = ['think', 'thinking', 'thought', 'reasoning'];
const FENCE = '```';
const TOKENS = new RegExp(`${FENCE}|<(/?)(${NAMES.join('|')}|final)>`, 'gi');
const TAGS = [...NAMES, 'final'].flatMap((name) => [`<${name}>`, `</${name}>`]);
const MAX_HELD_CHARS = Math.max(...TAGS.map(({ length }) => length));

/**
 * Removes the content of `<think>` and similar tags outside of code blocks. An unclosed tag removes the rest. With `finalOnly` only the
 * content of `<final>` is kept.
 */
export function createReasoningFilter(finalOnly: boolean): ReasoningFilter {
  let held = '';
  /** The reasoning tag that is open. */
  let openTag: string | undefined;
  let inCode = false;
  let inFinal = false;
  /** Set after a reasoning block: leading white space is removed. */
  let trimNext = false;

  function emit(text: string): string {
    if (openTag !== undefined || (finalOnly && !inFinal)) return '';
    const output = trimNext ? text.trimStart() : text;
    if (output !== '') trimNext = false;
    return output;
  }

  /** Handles a fence or a tag and returns its visible text. */
  function handleToken(token: string, closes: boolean, name: string): string {
    if (openTag !== undefined) {
      if (closes && name === openTag) [openTag, trimNext] = [undefined, true];
      return '';
    }
    if (name === '') inCode = !inCode;
    else if (name === 'final' && finalOnly && !inCode) [inFinal, trimNext] = [!closes, true];
    else if (name !== 'final' && !closes && !inCode) openTag = name;
    else return emit(token);
    return name === '' ? emit(token) : '';
  }

  function read(text: string, last: boolean): string {
    let output = '';
    let at = 0;
    for (const match of text.matchAll(TOKENS)) {
      const [token, slash = '', name = ''] = match;
      output += emit(text.slice(at, match.index)) + handleToken(token, slash !== '', name.toLowerCase());
      at = match.index + token.length;
    }
    const open = last ? text.length : findOpenStart(text, at);
    held = text.slice(open);
    return output + emit(text.slice(at, open));
  }

  return {
    push: (piece) => (held === '' && !piece.includes('<') && !piece.includes('`') ? emit(piece) : read(held + piece, false)),
    end: () => (held === '' ? '' : read(held, true)),
  };
}

/** The position from which the text could be the beginning of a fence or a tag, or its length. */
function findOpenStart(text: string, from: number): number {
  for (let at = Math.max(from, text.length - MAX_HELD_CHARS); at < text.length; at += 1) {
    const rest = text.slice(at).toLowerCase();
    if (FENCE.startsWith(rest) || TAGS.some((tag) => tag.startsWith(rest))) return at;
  }
  return text.length;
}
