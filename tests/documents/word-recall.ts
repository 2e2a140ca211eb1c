const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** Emphasis of Markdown inside of words, separators of columns, which are parts of numbers elsewhere, and soft hyphens. */
const MARKS: readonly [RegExp, string][] = [
  [/(?<=[\p{L}\p{N}])\*{1,4}(?=[\p{L}\p{N}])/gu, ''],
  [/,/g, ' '],
  [/\u00AD/g, ''],
];

/** The words of a text in lower case, in their order. */
export function listWords(text: string): string[] {
  const plain = MARKS.reduce((marked, [mark, replacement]) => marked.replaceAll(mark, replacement), text.normalize('NFKC').toLowerCase());
  return [...segmenter.segment(plain)].filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment);
}

/** How many words of the reference the text has. A word that occurs twice in the reference must occur twice. */
export function countFound(text: string, reference: string): { found: number; words: number } {
  const left = new Map<string, number>();
  for (const word of listWords(text)) left.set(word, (left.get(word) ?? 0) + 1);
  const words = listWords(reference);
  let found = 0;
  for (const word of words) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    found += 1;
    left.set(word, count - 1);
  }
  return { found, words: words.length };
}
