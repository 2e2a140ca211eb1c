/** Minimum length. Shorter values also occur in ordinary words. */
const MIN_VALUE = 8;
/** Maximum number of values; the oldest are evicted first, because values change during the life of a process. */
const MAX_VALUES = 1_000;

/** Longer values are searched as text, because a pattern of several of them exceeds the size limit of regular expressions. */
const MAX_PATTERN_VALUE = 1_024;
/** Maximum total length of the values in one pattern. */
const MAX_PATTERN_CHARS = 32_768;

const values = new Map<string, number>();
/** Values above `MAX_PATTERN_VALUE`, longest first. */
let longValues: readonly string[] = [];
/** The other values, longest first. */
let patterns: readonly RegExp[] = [];
let longest = 0;

/** Masks a value in all later logs, spans and outgoing errors of this process. */
export function hideValue(value: string): void {
  if (value.length < MIN_VALUE || values.has(value)) return;
  for (const form of getForms(value)) values.set(form, form.length);
  while (values.size > MAX_VALUES) values.delete([...values.keys()][0] ?? '');
  const byLength = [...values.keys()].toSorted((a, b) => b.length - a.length);
  longest = byLength[0]?.length ?? 0;
  longValues = byLength.filter(({ length }) => length > MAX_PATTERN_VALUE);
  patterns = groupByLength(byLength.slice(longValues.length)).map(
    (group) => new RegExp(group.map((one) => RegExp.escape(one)).join('|'), 'g'),
  );
}

/** Splits a list into groups of at most `MAX_PATTERN_CHARS` in total. */
function groupByLength(list: readonly string[]): string[][] {
  const groups: string[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const value of list) {
    size += value.length;
    if (size > MAX_PATTERN_CHARS) {
      groups.push([]);
      size = value.length;
    }
    groups.at(-1)?.push(value);
  }
  return groups;
}

/** Replaces each masked value with `mark`. */
export function withoutHidden(text: string, mark: string): string {
  let output = text;
  for (const value of longValues) output = output.replaceAll(value, () => mark);
  for (const pattern of patterns) output = output.replace(pattern, () => mark);
  return output;
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
