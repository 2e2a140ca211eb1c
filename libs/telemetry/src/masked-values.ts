/** Shorter ones stand in innocent words. */
const MIN_VALUE = 8;
/** The oldest are forgotten first: values change while a process runs, and it may run for years. */
const MOST_VALUES = 1_000;

const values = new Map<string, number>();
let pattern: RegExp | undefined;
let longest = 0;

/** From now on this value is written by no log and no span of this process, wherever it stands, and in no error that leaves it. */
export function hideValue(value: string): void {
  if (value.length < MIN_VALUE || values.has(value)) return;
  for (const form of formsOf(value)) values.set(form, form.length);
  while (values.size > MOST_VALUES) values.delete([...values.keys()][0] ?? '');
  const byLength = [...values.keys()].toSorted((a, b) => b.length - a.length);
  longest = byLength[0]?.length ?? 0;
  pattern = new RegExp(byLength.map((one) => RegExp.escape(one)).join('|'), 'g');
}

/** The text with `mark` in place of each value that is hidden. */
export function withoutHidden(text: string, mark: string): string {
  return pattern === undefined ? text : text.replace(pattern, mark);
}

/** How long the longest hidden value is: whoever cuts a text looks that far behind the cut. */
export function longestHidden(): number {
  return longest;
}

/** As it is, and as it stands in JSON, in an address, in a header of Basic and among bytes. */
function formsOf(value: string): Set<string> {
  const base64 = Buffer.from(value).toString('base64');
  return new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value.toWellFormed()), base64, base64.replace(/=+$/, '')]);
}
