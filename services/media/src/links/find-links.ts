const FENCED_CODE = /(^|\n)[ \t]*(```|~~~)[\s\S]*?(?:\n[ \t]*\2[^\n]*|$)/g;
const INLINE_CODE = /(`+)(?:(?!\1)[\s\S])+?\1(?!`)/g;
const ADDRESS = /\bhttps?:\/\/[^\s<>"'`{}|\\^]+/gi;
const TRAILING = /[.,;:!?*_~'"”’»]+$/;

/** Finds the first distinct http(s) addresses of a text, outside of code. */
export function findLinks(text: string, max: number): string[] {
  const plain = text.replaceAll(FENCED_CODE, '\n').replaceAll(INLINE_CODE, ' ');
  const found = new Set<string>();
  for (const [match] of plain.matchAll(ADDRESS)) {
    const url = trimAddress(match);
    if (URL.canParse(url)) found.add(url);
    if (found.size === max) break;
  }
  return [...found];
}

/** Removes punctuation of the sentence and closing brackets that the address did not open. */
function trimAddress(match: string): string {
  let url = match;
  for (;;) {
    const trimmed = url.replace(TRAILING, '');
    const isUnbalanced = /[)\]]$/.test(trimmed) && count(trimmed, /[([]/g) < count(trimmed, /[)\]]/g);
    const next = isUnbalanced ? trimmed.slice(0, -1) : trimmed;
    if (next === url) return url;
    url = next;
  }
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
