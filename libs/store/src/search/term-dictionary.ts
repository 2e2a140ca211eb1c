import type { QueryWord } from '../words/query-words.ts';
import { collectTerms, MIN_PART_LENGTH } from '../words/index-tokens.ts';
import { isOneEdit, isTolerant } from '../words/spelling.ts';
import type { IndexFile } from './index-file.ts';

/** Terms that one word of a query is replaced with. */
const MAX_RELATED_TERMS = 16;
/** Entries that are checked for a term of a deleted one. A term that none of them has is deleted, even if a further entry has it. */
const MAX_CHECKED_ENTRIES = 20;
/** Terms in memory that are known to be in the table. The last text may add more. */
const MAX_KNOWN_TERMS = 100_000;
const LAST_CHARACTER = '\u{10ffff}';

/** The terms of each partition. A term whose last entry is deleted is deleted as well, because it is a part of the text. */
export interface TermDictionary {
  /** Adds the terms of an indexed text. */
  add(part: string, indexText: string): void;
  /** Notes that a text was deleted. `flush` deletes its terms. */
  remove(part: string, indexText: string): void;
  /** Deletes terms that no entry has. The caller has written all entries of its transaction. */
  flush(): void;
  /** Forgets everything in memory, after a rollback or a deletion of all terms. */
  reset(): void;
  /** Returns terms that a word may mean: misspellings, and with `partial` terms that begin with the word and identifiers that contain it. */
  findRelated(part: string, word: QueryWord, partial: boolean): string[];
}

export function createTermDictionary({ prepare }: IndexFile): TermDictionary {
  /** The known terms of each partition, words and identifiers. */
  const known = new Map<string, readonly [Set<string>, Set<string>]>();
  let knownTerms = 0;
  const removed = new Map<string, Set<string>>();

  function getKnown(part: string): readonly [Set<string>, Set<string>] {
    let terms = known.get(part);
    if (!terms) known.set(part, (terms = [new Set(), new Set()]));
    return terms;
  }

  function clearKnown(): void {
    known.clear();
    knownTerms = 0;
  }

  function isUsed(part: string, term: string): boolean {
    const row = prepare(
      `SELECT 1 FROM (SELECT text FROM words WHERE words MATCH ? LIMIT ${MAX_CHECKED_ENTRIES})
       WHERE instr(' ' || text || ' ', ' ' || ? || ' ') > 0 LIMIT 1`,
    ).get(`part : "${part}" AND text : "${term}"`, term);
    return row !== undefined;
  }

  return {
    add(part, indexText) {
      if (knownTerms >= MAX_KNOWN_TERMS) clearKnown();
      const [words, identifiers] = getKnown(part);
      for (const [term, isIdentifier] of collectTerms(indexText)) {
        const terms = isIdentifier ? identifiers : words;
        if (terms.has(term)) continue;
        prepare('INSERT OR IGNORE INTO terms (part, identifier, term) VALUES (?, ?, ?)').run(toNumber(part), Number(isIdentifier), term);
        terms.add(term);
        knownTerms += 1;
      }
    },
    remove(part, indexText) {
      const terms = removed.get(part) ?? new Set();
      removed.set(part, terms);
      for (const term of collectTerms(indexText).keys()) terms.add(term);
    },
    flush() {
      for (const [part, terms] of removed) {
        for (const term of terms) {
          if (isUsed(part, term)) continue;
          prepare('DELETE FROM terms WHERE part = ? AND identifier IN (0, 1) AND term = ?').run(toNumber(part), term);
          for (const terms of getKnown(part)) terms.delete(term);
        }
      }
      removed.clear();
    },
    reset() {
      clearKnown();
      removed.clear();
    },
    findRelated(partition, { text, kind }, partial) {
      if (kind === 'unspaced' || text.length < MIN_PART_LENGTH) return [];
      const part = toNumber(partition);
      const similar = isTolerant(text) ? findMisspelt(prepare, part, text) : [];
      return [...new Set([...(partial ? findPartial(prepare, part, text) : []), ...similar])];
    },
  };
}

/** The first digits identify a partition well enough, because the full-text query compares all of them. */
function toNumber(part: string): number {
  return Number(part.slice(0, 15));
}

function findPartial(prepare: IndexFile['prepare'], part: number, text: string): string[] {
  const rows = prepare(
    `SELECT term FROM terms WHERE part = ?1 AND ((identifier IN (0, 1) AND term > ?2 AND term < ?3) OR (identifier = 1 AND instr(term, ?2) > 1))
     ORDER BY length(term), term LIMIT ${MAX_RELATED_TERMS}`,
  ).all(part, text, `${text}${LAST_CHARACTER}`);
  return rows.map(({ term }) => String(term));
}

function findMisspelt(prepare: IndexFile['prepare'], part: number, text: string): string[] {
  const first = String.fromCodePoint(text.codePointAt(0) ?? 0);
  const rows = prepare(
    `SELECT term FROM terms WHERE part = ? AND identifier IN (0, 1) AND term > ? AND term < ? AND abs(length(term) - length(?)) <= 1`,
  ).all(part, first, `${first}${LAST_CHARACTER}`, text);
  const similar = rows.map(({ term }) => String(term)).filter((term) => isOneEdit(term, text));
  return similar.slice(0, MAX_RELATED_TERMS);
}
