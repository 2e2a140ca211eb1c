/** Takes out of a text that comes in pieces what its model thought aloud. */
export interface ReasoningFilter {
  /** What of all so far is said. What could be the beginning of a tag waits for what follows. */
  push: (piece: string) => string;
  end: () => string;
}

const NAMES = ['think', 'thinking', 'thought', 'reasoning'];
const FENCE = '```';
const TOKENS = new RegExp(`${FENCE}|<(/?)(${NAMES.join('|')}|final)>`, 'gi');
const TAGS = [...NAMES, 'final'].flatMap((name) => [`<${name}>`, `</${name}>`]);
const MOST_HELD = Math.max(...TAGS.map(({ length }) => length));

/**
 * What stands in `<think>` and its like is left out, except in blocks of code; of a tag that nobody closes, all that follows. With
 * `finalOnly` nothing is said but what stands in `<final>`.
 */
export function createReasoningFilter(finalOnly: boolean): ReasoningFilter {
  let held = '';
  /** The tag of the thought that is being left out. */
  let thought: string | undefined;
  let inCode = false;
  let inFinal = false;
  /** White space between a thought and the answer is neither's. */
  let fresh = false;

  function say(text: string): string {
    if (thought !== undefined || (finalOnly && !inFinal)) return '';
    const said = fresh ? text.trimStart() : text;
    if (said !== '') fresh = false;
    return said;
  }

  /** What is said of a fence or a tag itself. */
  function meet(token: string, closes: boolean, name: string): string {
    if (thought !== undefined) {
      if (closes && name === thought) [thought, fresh] = [undefined, true];
      return '';
    }
    if (name === '') inCode = !inCode;
    else if (name === 'final' && finalOnly && !inCode) [inFinal, fresh] = [!closes, true];
    else if (name !== 'final' && !closes && !inCode) thought = name;
    else return say(token);
    return name === '' ? say(token) : '';
  }

  function read(text: string, last: boolean): string {
    let said = '';
    let at = 0;
    for (const match of text.matchAll(TOKENS)) {
      const [token, slash = '', name = ''] = match;
      said += say(text.slice(at, match.index)) + meet(token, slash !== '', name.toLowerCase());
      at = match.index + token.length;
    }
    const open = last ? text.length : openFrom(text, at);
    held = text.slice(open);
    return said + say(text.slice(at, open));
  }

  return {
    push: (piece) => (held === '' && !piece.includes('<') && !piece.includes('`') ? say(piece) : read(held + piece, false)),
    end: () => (held === '' ? '' : read(held, true)),
  };
}

/** From where on a text could be the beginning of a fence or a tag; its length where nothing of it could. */
function openFrom(text: string, from: number): number {
  for (let at = Math.max(from, text.length - MOST_HELD); at < text.length; at += 1) {
    const rest = text.slice(at).toLowerCase();
    if (FENCE.startsWith(rest) || TAGS.some((tag) => tag.startsWith(rest))) return at;
  }
  return text.length;
}
