const BEFORE_CHARS = 80;
const AFTER_CHARS = 120;

/** Returns the text around the first query word. Returns the beginning if the text contains only other forms of the words. */
export function getSnippet(text: string, query: string): string {
  const lower = text.toLowerCase();
  const words = [query, ...query.split(/[^\p{L}\p{N}]+/u)].map((word) => word.trim().toLowerCase()).filter((word) => word !== '');
  const at = Math.max(0, words.map((word) => lower.indexOf(word)).find((place) => place >= 0) ?? 0);
  const [from, to] = [Math.max(0, at - BEFORE_CHARS), at + AFTER_CHARS];
  const part = text.slice(from, to).replaceAll(/\s+/g, ' ').toWellFormed();
  return `${from > 0 ? '…' : ''}${part}${to < text.length ? '…' : ''}`;
}
