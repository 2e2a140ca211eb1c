/** Share of a limit in which a break is searched. A text without spaces is cut at the limit. */
const SEARCHED_SHARE = 0.2;

/** Cuts a text at the last space before a limit. Never splits a surrogate pair. */
export function cutAtWord(text: string, maxChars: number): { text: string; truncated: boolean } {
  if (text.length <= maxChars) return { text, truncated: false };
  const head = text.slice(0, maxChars);
  const isWhole = /\s/.test(text.charAt(maxChars));
  const at = isWhole ? maxChars : findLast(head, /\s/g);
  const end = at > maxChars * (1 - SEARCHED_SHARE) ? at : maxChars;
  const cut = head.slice(0, end);
  return { text: (cut.isWellFormed() ? cut : cut.replace(/[\ud800-\udbff]$/, '')).trimEnd(), truncated: true };
}

/** Cuts a text after the last sentence before a limit, else at a word. */
export function cutAtSentence(text: string, maxChars: number): { text: string; truncated: boolean } {
  if (text.length <= maxChars) return { text, truncated: false };
  const head = text.slice(0, maxChars);
  const end = findLast(head, /[.!?。！？…]["'”’)\]]?(?=\s|$)|\n\n/g);
  if (end < maxChars * 0.5) return cutAtWord(text, maxChars);
  const sentence = /^[.!?。！？…]["'”’)\]]?/.exec(head.slice(end))?.[0] ?? '';
  return { text: head.slice(0, end + sentence.length).trimEnd(), truncated: true };
}

function findLast(text: string, pattern: RegExp): number {
  let last = -1;
  const from = Math.floor(text.length * 0.4);
  for (const { index } of text.slice(from).matchAll(pattern)) last = from + index;
  return last;
}
