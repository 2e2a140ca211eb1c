const MOST = 3;

/** Returns up to three names within a small edit distance of the word, nearest first. */
export function closest(word: string, names: Iterable<string>): string[] {
  const requested = word.toLowerCase();
  const near: [distance: number, name: string][] = [];
  for (const name of names) {
    const distance = distanceBetween(requested, name.toLowerCase());
    if (distance <= Math.min(3, Math.ceil(name.length / 3))) near.push([distance, name]);
  }
  near.sort(([a], [b]) => a - b);
  return near.slice(0, MOST).map(([, name]) => name);
}

/** Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours. */
function distanceBetween(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const costs = [(last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + change];
      row.push(Math.min(...costs, swapped ? (before[j - 2] ?? 0) + 1 : Infinity));
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
