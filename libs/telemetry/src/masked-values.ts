/** Minimum length. Shorter values also occur in ordinary words. */
const MIN_VALUE = 8;
/** Maximum number of values; the oldest are evicted first, because values change during the life of a process. */
const MAX_VALUES = 1_000;

const values = new Map<string, number>();
let pattern: RegExp | undefined;
let longest = 0;

/** Masks a value in all later logs, spans and outgoing errors of this process. */
export function hideValue(value: string): void {
  if (value.length < MIN_VALUE || values.has(value)) return;
  for (const form of getForms(value)) values.set(form, form.length);
  while (values.size > MAX_VALUES) values.delete([...values.keys()][0] ?? '');
  const byLength = [...values.keys()].toSorted((a, b) => b.length - a.length);
  longest = byLength[0]?.length ?? 0;
  pattern = new RegExp(byLength.map((one) => RegExp.escape(one)).join('|'), 'g');
}

/** Replaces each masked value with `mark`. */
export function withoutHidden(text: string, mark: string): string {
  return pattern === undefined ? text : text.replace(pattern, mark);
}

/** Length of the longest masked value. Code that cuts a text must mask this far beyond the cut. */
export function longestHidden(): number {
  return longest;
}

/** Returns the value in plain form and as encoded in JSON, URLs and Base64. */
function getForms(value: string): Set<string> {
  const base64 = Buffer.from(value).toString('base64');
  return new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value.toWellFormed()), base64, base64.replace(/=+$/, '')]);
}
