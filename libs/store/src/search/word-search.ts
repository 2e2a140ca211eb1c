import { parseQuery } from '../words/query-words.ts';
import { buildEntryFilter } from './entry-filter.ts';
import { computePartition, type IndexFile } from './index-file.ts';
import type { SearchQuery } from './search-index.ts';
import type { TermDictionary } from './term-dictionary.ts';
import { buildWordMatch } from './word-match.ts';

const MAX_QUERY_WORDS = 32;
/** Only the newest matches are ranked. Ranking all would take time in proportion to their number. */
const MAX_RANKED_MATCHES = 20_000;
/** Matches that are fetched first. More are needed only if filters exclude most of these. */
const MIN_RANKED_MATCHES = 80;

interface WordSearchDeps {
  file: IndexFile;
  terms: Pick<TermDictionary, 'findRelated'>;
}

/** Returns ids of entries that contain at least one word of the query, and behind them those with related terms. */
export function findByWords({ file, terms }: WordSearchDeps, query: SearchQuery, limit: number): string[] {
  const words = parseQuery(query.text, MAX_QUERY_WORDS);
  if (words.length === 0) return [];
  const part = computePartition(query.tenant, query.group);
  const exact = rankByWords(file, query, { match: buildWordMatch(part, words), limit });
  if (exact.length >= limit) return exact;
  const related = words.flatMap((word) => terms.findRelated(part, word, query.partial ?? false));
  if (related.length === 0) return exact;
  const match = buildWordMatch(part, [{ phrases: related, isPrefix: false }]);
  const ids = rankByWords(file, query, { match, limit: limit + exact.length });
  return [...new Set([...exact, ...ids])].slice(0, limit);
}

/** Returns ids of matching entries, ranked by BM25. Ties are ordered by id. */
function rankByWords(file: IndexFile, query: SearchQuery, { match, limit }: { match: string; limit: number }): string[] {
  const max = Math.max(MIN_RANKED_MATCHES, limit * 4);
  const first = rankMatches(file, query, { match, max });
  const isCutOff = first.ids.length < limit && first.ranked === max;
  const { ids } = isCutOff ? rankMatches(file, query, { match, max: MAX_RANKED_MATCHES }) : first;
  return ids.slice(0, limit);
}

/** Ranks at most `max` matches. Returns those that pass the filters of the query, and the number of ranked matches. */
function rankMatches(
  { prepare }: IndexFile,
  query: SearchQuery,
  { match, max }: { match: string; max: number },
): { ids: string[]; ranked: number } {
  const { text, values } = buildEntryFilter(query);
  const matching = `SELECT rowid, bm25(words, 0.0, 1.0) AS rank FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ${MAX_RANKED_MATCHES}`;
  const select = prepare(
    `SELECT id, (${text}) AS passes FROM (SELECT rowid, rank FROM (${matching}) ORDER BY rank LIMIT ?) AS found
     CROSS JOIN entries ON entries.row = found.rowid ORDER BY found.rank, id`,
  );
  const rows = select.all(...values, match, max);
  return { ids: rows.filter(({ passes }) => passes === 1).map(({ id }) => String(id)), ranked: rows.length };
}
