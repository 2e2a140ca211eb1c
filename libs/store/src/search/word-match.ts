import type { QueryWord } from '../words/query-words.ts';

/** Returns the FTS5 expression for entries of a partition that contain at least one of the words. */
export function buildWordMatch(part: string, words: readonly Pick<QueryWord, 'phrases' | 'isPrefix'>[]): string {
  // Phrases consist of letters, digits and spaces and are quoted, so they cannot contain FTS5 operators.
  const phrases = words.flatMap(({ phrases, isPrefix }) => phrases.map((phrase) => `"${phrase}"${isPrefix ? ' *' : ''}`));
  return `part : "${part}" AND text : (${phrases.join(' OR ')})`;
}
