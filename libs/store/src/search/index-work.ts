import { alike } from './alike.ts';
import { crowded } from './crowded.ts';
import { fuse, type Lane } from './fuse.ts';
import { hashEmbedding } from './hash-embedding.ts';
import { openIndexFile, partOf, type IndexFile } from './index-file.ts';
import type {
  GoneEntry,
  IndexStats,
  IndexWork,
  ListPage,
  ListQuery,
  Scope,
  SearchEntry,
  SearchHits,
  SearchIndexOptions,
  SearchQuery,
} from './search-index.ts';
import { createVectorCache } from './vector-cache.ts';
import { createVectorLane, type VectorLane } from './vector-lane.ts';
import { whereEntries } from './where-entries.ts';
import { wordsOf } from './words.ts';

/** A lane is asked for more than is wanted, because the other one may have put first what it puts last. */
const OVER_FETCH = 2;
const TEXT_WEIGHT = 1;
const VECTOR_WEIGHT = 1.5;
/** Words of a question that are looked for. */
const MOST_WORDS = 32;
/** Of a text, what is searched by words; by then it has said what it is about. */
const MOST_TEXT_CHARS = 200_000;
/** So many of those that have one of the words are compared, the newest: to compare all would take as long as there are many. */
const MOST_RANKED = 20_000;
/** So many of the best are enough, unless most of them are not meant. */
const FEW_RANKED = 80;
/** What is gone is remembered as long as somebody may still tell of an earlier state of it. */
const GONE_MS = 2 * 86_400_000;
const PURGE_MS = 3_600_000;

export interface OpenWork extends IndexWork, Disposable {
  /** Throws its file away, and closes it: nothing in it can be trusted. */
  discard(): void;
}

/** Opens the index of a directory and does its work here, in this thread. */
export function openIndexWork(dir: string, options: SearchIndexOptions): OpenWork {
  const file = openIndexFile(dir, options);
  const lane = createVectorLane(file);
  const cache = createVectorCache(options.cachedVectors);
  const writer = createWriter(file, lane, vectorsOf(options));
  return {
    followedTo: () => followedTo(file),
    apply: (changes, position) => writer(changes, position),
    clear() {
      file.db.exec("DELETE FROM words; DELETE FROM vectors; DELETE FROM entries; DELETE FROM meta WHERE name = 'followedTo'");
      lane.clear();
    },
    search: (query) => search({ file, lane, vectorOf: cache.vectorOf }, query),
    list: (query) => list(file, query),
    has: (scope) => has(file, scope),
    stats: (scope) => stats(file, scope),
    crowded: (query) => crowded(file, query),
    alike: (query) => alike(file, lane, query),
    cacheStats: () => cache.stats(),
    discard: () => file.discard(),
    [Symbol.dispose]: () => file.close(),
  };
}

function followedTo({ prepare }: IndexFile): number | null {
  const known = prepare(`SELECT value FROM meta WHERE name = 'followedTo'`).get();
  return known === undefined ? null : Number(known.value);
}

/** Where the vector of an entry comes from; undefined for one that is found by its words alone. */
type VectorOf = (entry: SearchEntry, text: string) => Int8Array | undefined;

function vectorsOf({ wordsAlone = false, given }: SearchIndexOptions): VectorOf {
  if (wordsAlone) return () => undefined;
  // One of another length is of another model, whatever it is called.
  return given === undefined
    ? (_entry, text) => hashEmbedding(text)
    : ({ vector }) => (vector?.length === given.dimensions ? vector : undefined);
}

function createWriter(file: IndexFile, lane: VectorLane, vectorOf: VectorOf): IndexWork['apply'] {
  const { db, prepare } = file;
  let purged = 0;

  /** The row of an entry that is older than this change of it; undefined where it is as new. */
  function rowFor({
    tenant,
    id,
    version,
  }: Pick<SearchEntry, 'tenant' | 'id' | 'version'>): { row: number | null; part: string } | undefined {
    const there = prepare('SELECT row, version, part FROM entries WHERE tenant = ? AND id = ?').get(tenant, id);
    if (there === undefined) return { row: null, part: '' };
    return Number(there.version) < version ? { row: Number(there.row), part: String(there.part) } : undefined;
  }

  function clear({ row, part }: { row: number | null; part: string }, id: string): void {
    if (row === null) return;
    prepare('DELETE FROM words WHERE rowid = ?').run(row);
    prepare('DELETE FROM vectors WHERE row = ?').run(row);
    lane.remove(part, id);
  }

  function put(entry: SearchEntry): void {
    const before = rowFor(entry);
    if (!before) return;
    clear(before, entry.id);
    const part = partOf(entry.tenant, entry.group);
    const row = keepEntry(file, { row: before.row, part, entry });
    const text = entry.text.slice(0, MOST_TEXT_CHARS);
    prepare('INSERT INTO words (rowid, part, text) VALUES (?, ?, ?)').run(row, part, text);
    const vector = vectorOf(entry, text);
    if (vector === undefined) return;
    prepare('INSERT INTO vectors (row, vector) VALUES (?, ?)').run(row, new Uint8Array(vector.buffer, vector.byteOffset, vector.length));
    lane.put(part, entry, vector);
  }

  function takeOut({ tenant, id, version }: GoneEntry): void {
    const before = rowFor({ tenant, id, version });
    if (!before) return;
    clear(before, id);
    const none = {
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
    const { row } = before;
    keepEntry(file, { row, part: '', entry: { tenant, id, version, ...none }, gone: true });
  }

  function purge(now: number): void {
    if (now - purged < PURGE_MS) return;
    purged = now;
    const expired = prepare('SELECT row, id, part FROM entries WHERE expires <= ? LIMIT 10000').all(now);
    for (const { row, id, part } of expired) clear({ row: Number(row), part: String(part) }, String(id));
    prepare('DELETE FROM entries WHERE row IN (SELECT value FROM json_each(?))').run(JSON.stringify(expired.map(({ row }) => row)));
    prepare('DELETE FROM entries WHERE gone = 1 AND version < ?').run(now - GONE_MS);
  }

  return (changes, position) => {
    db.exec('BEGIN IMMEDIATE');
    try {
      for (const change of changes) {
        if ('gone' in change) takeOut(change);
        else put(change);
      }
      if (position !== null) {
        prepare(`INSERT INTO meta (name, value) VALUES ('followedTo', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`).run(
          String(position),
        );
        purge(position);
      }
      db.exec('COMMIT');
    } catch (error) {
      // What the lane was told of meanwhile is not true: whoever asks opens the index anew.
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  };
}

interface Keeping {
  row: number | null;
  part: string;
  entry: SearchEntry;
  gone?: boolean;
}

function keepEntry({ prepare }: IndexFile, { row, part, entry, gone = false }: Keeping): number {
  const keep = prepare(
    `INSERT OR REPLACE INTO entries (row, tenant, id, part, grp, owner, kind, trust, tags, session, bytes, created, expires, version, gone)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const { tenant, id, group, owner, kind, trust, tags, session, bytes, createdAt, expiresAt = null, version } = entry;
  const names = [tenant, id, part, group, owner, kind, trust, JSON.stringify(tags), session];
  return Number(keep.run(row, ...names, bytes, createdAt, expiresAt, version, Number(gone)).lastInsertRowid);
}

interface Searching {
  file: IndexFile;
  lane: VectorLane;
  vectorOf: (text: string) => Int8Array;
}

function search({ file, lane, vectorOf }: Searching, query: SearchQuery): SearchHits {
  const { tenant, group, owners, trust, now, text, limit, vectors } = query;
  const wanted = limit * OVER_FETCH;
  const words = findByWords(file, query, wanted);
  const asked = vectors === true ? vectorOf(text) : vectors;
  const near = asked ? lane.nearest(partOf(tenant, group), asked, { owners, trust, now, limit: wanted }) : [];
  const lanes: Lane[] = [{ ids: words, weight: TEXT_WEIGHT }];
  if (asked) lanes.push({ ids: near, weight: VECTOR_WEIGHT });
  return { hits: fuse(lanes).slice(0, limit), textCandidates: words.length, vectorCandidates: near.length };
}

/** Ids of entries that have some of the words of a question, by BM25; equal ones by id. */
function findByWords(file: IndexFile, query: SearchQuery, limit: number): string[] {
  const words = [...new Set(wordsOf(query.text, MOST_WORDS))];
  if (words.length === 0) return [];
  // A word is letters and digits alone, and stands in quotes: nothing of it is an operator.
  const match = `part : "${partOf(query.tenant, query.group)}" AND text : (${words.map((word) => `"${word}"`).join(' OR ')})`;
  const few = Math.max(FEW_RANKED, limit * 4);
  const first = ranked(file, query, { match, most: few });
  // Of the best so many were not meant that there may be more.
  const found = first.ids.length < limit && first.seen === few ? ranked(file, query, { match, most: MOST_RANKED }) : first;
  return found.ids.slice(0, limit);
}

/** The best that have the words, those of them that are meant, and how many were looked at. */
function ranked(
  { prepare }: IndexFile,
  query: SearchQuery,
  { match, most }: { match: string; most: number },
): { ids: string[]; seen: number } {
  const { text, values } = whereEntries(query);
  const matching = `SELECT rowid, bm25(words, 0.0, 1.0) AS rank FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ${MOST_RANKED}`;
  const select = prepare(
    `SELECT id, (${text}) AS meant FROM (SELECT rowid, rank FROM (${matching}) ORDER BY rank LIMIT ?) AS found
     CROSS JOIN entries ON entries.row = found.rowid ORDER BY found.rank, id`,
  );
  const rows = select.all(...values, match, most);
  return { ids: rows.filter(({ meant }) => meant === 1).map(({ id }) => String(id)), seen: rows.length };
}

function list({ prepare }: IndexFile, query: ListQuery): ListPage {
  const { text, values } = whereEntries(query, query);
  const order = query.oldestFirst ? 'created, id' : 'created DESC, id DESC';
  const ids = prepare(`SELECT id FROM entries WHERE ${text} ORDER BY ${order} LIMIT ? OFFSET ?`).all(...values, query.limit, query.offset);
  const counted = prepare(`SELECT count(*) AS total FROM entries WHERE ${text}`).get(...values);
  return { ids: ids.map(({ id }) => String(id)), total: Number(counted?.total) };
}

function has({ prepare }: IndexFile, scope: Scope): boolean {
  const { text, values } = whereEntries(scope);
  return prepare(`SELECT 1 FROM entries WHERE ${text} LIMIT 1`).get(...values) !== undefined;
}

function stats({ prepare }: IndexFile, scope: Scope): IndexStats {
  const { text, values } = whereEntries(scope);
  const sums = prepare(
    `SELECT count(*) AS entries, coalesce(sum(bytes), 0) AS bytes, count(vectors.row) AS vectors, min(created) AS oldest,
       count(DISTINCT nullif(session, '')) AS sessions
     FROM entries LEFT JOIN vectors USING (row) WHERE ${text}`,
  ).get(...values);
  const by = (column: 'kind' | 'trust' | 'grp'): Record<string, number> => {
    const rows = prepare(`SELECT ${column} AS name, count(*) AS n FROM entries WHERE ${text} GROUP BY ${column} ORDER BY ${column}`);
    return Object.fromEntries(rows.all(...values).map(({ name, n }) => [String(name), Number(n)]));
  };
  return {
    entries: Number(sums?.entries),
    bytes: Number(sums?.bytes),
    vectors: Number(sums?.vectors),
    sessions: Number(sums?.sessions),
    oldestCreatedAt: sums?.oldest === null ? null : Number(sums?.oldest),
    byKind: by('kind'),
    byTrust: by('trust'),
    byGroup: by('grp'),
  };
}
