import { buildEntryFilter } from './entry-filter.ts';
import { computePartition, openIndexFile, type IndexFile } from './index-file.ts';
import { findLargeGroups } from './large-groups.ts';
import { fuseRankings, type RankedList } from './rank-fusion.ts';
import type {
  DeletedEntry,
  IndexStats,
  ListPage,
  ListQuery,
  Scope,
  SearchEntry,
  SearchHits,
  SearchIndexOptions,
  SearchOperations,
  SearchQuery,
} from './search-index.ts';
import { findSimilar } from './similar-entries.ts';
import { createTermDictionary, type TermDictionary } from './term-dictionary.ts';
import { createVectorIndex, type VectorIndex } from './vector-index.ts';
import { findByWords } from './word-search.ts';
import { buildIndexText } from '../words/index-text.ts';

/** Each method returns more results than requested, because the other one may rank them differently. */
const OVERFETCH_FACTOR = 2;
const TEXT_WEIGHT = 1;
const VECTOR_WEIGHT = 1.5;
/** Longer texts are truncated in the full-text index. */
const MAX_TEXT_LENGTH = 200_000;
/** Tombstones are kept as long as an older version of the entry may still arrive. */
const TOMBSTONE_TTL_MS = 2 * 86_400_000;
const PURGE_INTERVAL_MS = 3_600_000;

/** An index in the current thread. */
export interface SearchEngine extends SearchOperations, Disposable {
  /** Closes a corrupt file and deletes it. */
  discard(): void;
}

export function openSearchEngine(dir: string, options: SearchIndexOptions): SearchEngine {
  const file = openIndexFile(dir, options);
  const vectors = createVectorIndex(file, options.vectorModel);
  const terms = createTermDictionary(file);
  const write = createWriter({ file, vectors, terms }, options);
  return {
    getPosition: () => readPosition(file),
    apply: write,
    clear() {
      file.db.exec(
        "DELETE FROM words; DELETE FROM terms; DELETE FROM vectors; DELETE FROM entries; DELETE FROM meta WHERE name = 'position'",
      );
      vectors.clear();
      terms.reset();
    },
    search: (query) => search({ file, vectors, terms }, query),
    list: (query) => listEntries(file, query),
    has: (scope) => hasEntries(file, scope),
    stats: (scope) => computeStats(file, scope),
    findLargeGroups: (query) => findLargeGroups(file, query),
    findSimilar: (query) => findSimilar(file, vectors, query),
    discard: () => file.discard(),
    [Symbol.dispose]: () => file.close(),
  };
}

function readPosition({ prepare }: IndexFile): number | null {
  const row = prepare(`SELECT value FROM meta WHERE name = 'position'`).get();
  return row === undefined ? null : Number(row.value);
}

/** The row that an entry replaces; `row` is null for a new entry. */
interface ReplacedRow {
  row: number | null;
  part: string;
}

/** The file and what is derived from it. */
interface IndexParts {
  file: IndexFile;
  vectors: VectorIndex;
  terms: TermDictionary;
}

function createWriter({ file, vectors, terms }: IndexParts, { vectorModel }: SearchIndexOptions): SearchOperations['apply'] {
  const { db, prepare } = file;
  let purgedAt = 0;

  /**
   * Returns undefined if the index has this version or a newer one. A deletion replaces an entry of the same version, because versions are
   * times and an entry can be deleted in the millisecond of its creation.
   */
  function findReplacedRow(change: Pick<SearchEntry, 'tenant' | 'id' | 'version'>, isDeletion = false): ReplacedRow | undefined {
    const { tenant, id, version } = change;
    const current = prepare('SELECT row, version, part, gone FROM entries WHERE tenant = ? AND id = ?').get(tenant, id);
    if (current === undefined) return { row: null, part: '' };
    const isOlder = Number(current.version) < version || (isDeletion && Number(current.version) === version && Number(current.gone) === 0);
    return isOlder ? { row: Number(current.row), part: String(current.part) } : undefined;
  }

  function deleteContent({ row, part }: ReplacedRow, id: string): void {
    if (row === null) return;
    const indexed = prepare('SELECT text FROM words WHERE rowid = ?').get(row);
    if (indexed) terms.remove(part, String(indexed.text));
    prepare('DELETE FROM words WHERE rowid = ?').run(row);
    prepare('DELETE FROM vectors WHERE row = ?').run(row);
    vectors.remove(part, id);
  }

  function putEntry(entry: SearchEntry): void {
    const replaced = findReplacedRow(entry);
    if (!replaced) return;
    deleteContent(replaced, entry.id);
    const part = computePartition(entry.tenant, entry.group);
    const row = writeEntryRow(file, { row: replaced.row, part, entry });
    const indexText = buildIndexText(entry.text.slice(0, MAX_TEXT_LENGTH));
    terms.add(part, indexText);
    prepare('INSERT INTO words (rowid, part, text) VALUES (?, ?, ?)').run(row, part, indexText);
    const { vector } = entry;
    // A vector of another length is from another model.
    if (vector === undefined || vector.length !== vectorModel?.dimensions) return;
    prepare('INSERT INTO vectors (row, vector) VALUES (?, ?)').run(row, new Uint8Array(vector.buffer, vector.byteOffset, vector.length));
    vectors.put(part, entry, vector);
  }

  /** Keeps a tombstone with the version. */
  function deleteEntry({ tenant, id, version }: DeletedEntry): void {
    const replaced = findReplacedRow({ tenant, id, version }, true);
    if (!replaced) return;
    deleteContent(replaced, id);
    const empty = {
      group: '',
      owner: '',
      kind: '',
      trust: '',
      tags: [],
      session: '',
      text: '',
      bytes: 0,
      createdAt: 0,
      expiresAt: undefined,
    };
    writeEntryRow(file, { row: replaced.row, part: '', entry: { tenant, id, version, ...empty }, gone: true });
  }

  function purge(now: number): void {
    if (now - purgedAt < PURGE_INTERVAL_MS) return;
    purgedAt = now;
    const expired = prepare('SELECT row, id, part FROM entries WHERE expires <= ? LIMIT 10000').all(now);
    for (const { row, id, part } of expired) deleteContent({ row: Number(row), part: String(part) }, String(id));
    prepare('DELETE FROM entries WHERE row IN (SELECT value FROM json_each(?))').run(JSON.stringify(expired.map(({ row }) => row)));
    prepare('DELETE FROM entries WHERE gone = 1 AND version < ?').run(now - TOMBSTONE_TTL_MS);
  }

  return (changes, position) => {
    db.exec('BEGIN IMMEDIATE');
    try {
      for (const change of changes) {
        if ('gone' in change) deleteEntry(change);
        else putEntry(change);
      }
      if (position !== null) {
        prepare(`INSERT INTO meta (name, value) VALUES ('position', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`).run(
          String(position),
        );
        purge(position);
      }
      terms.flush();
      db.exec('COMMIT');
    } catch (error) {
      terms.reset();
      // The vectors in memory may differ from the file now. The caller opens the index again.
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  };
}

interface EntryRow {
  row: number | null;
  part: string;
  entry: SearchEntry;
  gone?: boolean;
}

function writeEntryRow({ prepare }: IndexFile, { row, part, entry, gone = false }: EntryRow): number {
  const insert = prepare(
    `INSERT OR REPLACE INTO entries (row, tenant, id, part, grp, owner, kind, trust, tags, session, bytes, created, expires, version, gone)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const { tenant, id, group, owner, kind, trust, tags, session, bytes, createdAt, expiresAt = null, version } = entry;
  const names = [tenant, id, part, group, owner, kind, trust, JSON.stringify(tags), session];
  return Number(insert.run(row, ...names, bytes, createdAt, expiresAt, version, Number(gone)).lastInsertRowid);
}

function search({ file, vectors, terms }: IndexParts, query: SearchQuery): SearchHits {
  const { tenant, group, owners, trust, now, limit: requested, vector } = query;
  const limit = requested * OVERFETCH_FACTOR;
  const byWords = findByWords({ file, terms }, query, limit);
  const byVector = vector ? vectors.findNearest(computePartition(tenant, group), vector, { owners, trust, now, limit }) : [];
  const lists: RankedList[] = [{ ids: byWords, weight: TEXT_WEIGHT }];
  if (vector) lists.push({ ids: byVector, weight: VECTOR_WEIGHT });
  return { hits: fuseRankings(lists).slice(0, requested), textCandidates: byWords.length, vectorCandidates: byVector.length };
}

function listEntries({ prepare }: IndexFile, query: ListQuery): ListPage {
  const { text, values } = buildEntryFilter(query, query);
  const order = query.oldestFirst ? 'created, id' : 'created DESC, id DESC';
  const ids = prepare(`SELECT id FROM entries WHERE ${text} ORDER BY ${order} LIMIT ? OFFSET ?`).all(...values, query.limit, query.offset);
  const count = prepare(`SELECT count(*) AS total FROM entries WHERE ${text}`).get(...values);
  return { ids: ids.map(({ id }) => String(id)), total: Number(count?.total) };
}

function hasEntries({ prepare }: IndexFile, scope: Scope): boolean {
  const { text, values } = buildEntryFilter(scope);
  return prepare(`SELECT 1 FROM entries WHERE ${text} LIMIT 1`).get(...values) !== undefined;
}

function computeStats({ prepare }: IndexFile, scope: Scope): IndexStats {
  const { text, values } = buildEntryFilter(scope);
  const sums = prepare(
    `SELECT count(*) AS entries, coalesce(sum(bytes), 0) AS bytes, count(vectors.row) AS vectors, min(created) AS oldest,
       count(DISTINCT nullif(session, '')) AS sessions
     FROM entries LEFT JOIN vectors USING (row) WHERE ${text}`,
  ).get(...values);
  const countBy = (column: 'kind' | 'trust' | 'grp'): Record<string, number> => {
    const rows = prepare(`SELECT ${column} AS name, count(*) AS n FROM entries WHERE ${text} GROUP BY ${column} ORDER BY ${column}`);
    return Object.fromEntries(rows.all(...values).map(({ name, n }) => [String(name), Number(n)]));
  };
  return {
    entries: Number(sums?.entries),
    bytes: Number(sums?.bytes),
    vectors: Number(sums?.vectors),
    sessions: Number(sums?.sessions),
    oldestCreatedAt: sums?.oldest === null ? null : Number(sums?.oldest),
    byKind: countBy('kind'),
    byTrust: countBy('trust'),
    byGroup: countBy('grp'),
  };
}
