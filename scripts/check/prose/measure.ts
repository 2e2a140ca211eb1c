import { KINDS, extractParagraphs, type Kind } from './extract.ts';
import { findProseFaults } from './rules.ts';
import { splitSentences } from './sentences.ts';

/** A sentence that has to be read twice, and the rules it breaks. */
export interface UnreadableSentence {
  path: string;
  line: number;
  kind: Kind;
  sentence: string;
  faults: string[];
}

export type Rates = Record<Kind, { sentences: number; unreadable: number }>;

/** Measures the sentences of some files: how many there are of each kind, and those that are unreadable. */
export function measureProse(files: Iterable<{ path: string; source: string }>): { rates: Rates; found: UnreadableSentence[] } {
  const rates = Object.fromEntries(KINDS.map((kind) => [kind, { sentences: 0, unreadable: 0 }])) as Rates;
  const matches: UnreadableSentence[] = [];
  for (const { path, source } of files)
    for (const { kind, text, line } of extractParagraphs(path, source))
      for (const [index, sentence] of splitSentences(text).entries()) {
        rates[kind].sentences++;
        const faults = findProseFaults(sentence, index === 0);
        if (faults.length === 0) continue;
        rates[kind].unreadable++;
        matches.push({ path, line, kind, sentence, faults });
      }
  return { rates, found: matches };
}

/** Unreadable sentences per 100, to one decimal. */
export function ratePer100({ sentences, unreadable }: { sentences: number; unreadable: number }): number {
  return sentences === 0 ? 0 : Math.round((1000 * unreadable) / sentences) / 10;
}
