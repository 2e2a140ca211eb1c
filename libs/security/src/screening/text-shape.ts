/** What is odd about a text, whatever it says. */
export type OddShape = 'mostly_whitespace' | 'repeated_character';

const LEAST_CHARS = 50;
const MOST_WHITESPACE = 0.7;
const MOST_REPEATS = 50;

/** More than seven tenths of it are white space, or one character stands there fifty times in a row. Short texts are never odd. */
export function oddShapesOf(text: string): OddShape[] {
  if (text.length < LEAST_CHARS) return [];
  const odd: OddShape[] = [];
  if (whitespaceIn(text) > text.length * MOST_WHITESPACE) odd.push('mostly_whitespace');
  if (longestRun(text) >= MOST_REPEATS) odd.push('repeated_character');
  return odd;
}

function whitespaceIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) if (isSpace(text.charCodeAt(at))) count += 1;
  return count;
}

/** Of characters that are seen: white space is counted above. */
function longestRun(text: string): number {
  let longest = 0;
  let run = 0;
  let last = -1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    run = code === last && !isSpace(code) ? run + 1 : 1;
    last = code;
    if (run > longest) longest = run;
  }
  return longest;
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0 || (code >= 0x2000 && code <= 0x200b) || code === 0x3000;
}
