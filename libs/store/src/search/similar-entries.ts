import { computePartition, type IndexFile } from './index-file.ts';
import type { SimilarQuery } from './search-index.ts';
import type { VectorIndex } from './vector-index.ts';
import { buildWordMatch } from './word-match.ts';
import { IDENTIFIER_MARK } from '../words/index-text.ts';
import { STOP_WORDS } from '../words/stop-words.ts';

/** Words and parts of words of an entry that are compared. */
const MAX_COMPARED_TOKENS = 100;
/** Entries with the most words in common that are compared. */
const MAX_CANDIDATES = 200;

/**
 * Finds entries of the same owner that are similar to one entry, itself first. Compares vectors, or the sets of words if the entry has
 * no vector; in both cases `minCosine` is the threshold.
 */
export function findSimilar(file: IndexFile, vectors: VectorIndex, query: SimilarQuery): string[] {
  const { tenant, group, id, now, trust, minCosine, limit } = query;
  const part = computePartition(tenant, group);
  const entry = file
    .prepare(
      `SELECT owner, vector, text FROM entries JOIN words ON words.rowid = entries.row LEFT JOIN vectors USING (row)
       WHERE tenant = ? AND id = ? AND entries.part = ? AND gone = 0`,
    )
    .get(tenant, id, part);
  if (entry === undefined) return [];
  const owner = String(entry.owner);
  if (!(entry.vector instanceof Uint8Array)) return findByWords(file, { ...query, part, owner, text: String(entry.text) });
  const { buffer, byteOffset, byteLength } = entry.vector;
  return vectors.findNearest(part, new Int8Array(buffer, byteOffset, byteLength), { owners: [owner], trust, now, limit, minCosine });
}

interface WordQuery extends SimilarQuery {
  part: string;
  owner: string;
  text: string;
}

function findByWords({ prepare }: IndexFile, { part, owner, text, trust, now, minCosine, limit }: WordQuery): string[] {
  const words = getComparedTokens(text);
  if (words.size === 0) return [];
  const match = buildWordMatch(part, [{ phrases: [...words], isPrefix: false }]);
  const rows = prepare(
    `SELECT id, text FROM words JOIN entries ON entries.row = words.rowid
     WHERE words MATCH ? AND owner = ? AND (expires IS NULL OR expires > ?) AND (? IS NULL OR trust IN (SELECT value FROM json_each(?)))
     ORDER BY bm25(words, 0.0, 1.0), id LIMIT ${MAX_CANDIDATES}`,
  ).all(match, owner, now, ...Array<string | null>(2).fill(trust === undefined ? null : JSON.stringify(trust)));
  return rows
    .map((row) => ({ id: String(row.id), cosine: computeWordCosine(words, getComparedTokens(String(row.text))) }))
    .filter(({ cosine }) => cosine >= minCosine)
    .sort((a, b) => b.cosine - a.cosine || (a.id < b.id ? -1 : 1))
    .slice(0, limit)
    .map((one) => one.id);
}

/** Returns the first distinctive tokens of an indexed text. */
function getComparedTokens(indexText: string): Set<string> {
  const tokens = indexText.split(' ').filter((token) => token !== '' && token !== IDENTIFIER_MARK && !STOP_WORDS.has(token));
  return new Set(tokens.slice(0, MAX_COMPARED_TOKENS));
}

function computeWordCosine(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  return b.size === 0 ? 0 : a.intersection(b).size / Math.sqrt(a.size * b.size);
}
