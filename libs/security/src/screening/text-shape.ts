/** Unusual shapes of a text, independent of its content. */
export type OddShape = 'mostly_whitespace' | 'repeated_character';

const MIN_CHARS = 50;
const MAX_WHITESPACE_RATIO = 0.7;
const MAX_REPEATS = 50;

/** Reports more than 70 % white space, and runs of at least 50 equal characters. Short texts are never reported. */
export function detectOddShapes(text: string): OddShape[] {
  if (text.length < MIN_CHARS) return [];
  const odd: OddShape[] = [];
  if (countWhitespace(text) > text.length * MAX_WHITESPACE_RATIO) odd.push('mostly_whitespace');
  if (longestRun(text) >= MAX_REPEATS) odd.push('repeated_character');
  return odd;
}

function countWhitespace(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) if (isSpace(text.charCodeAt(at))) count += 1;
  return count;
}

/** The longest run of one visible character. */
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
