/** A text to be found, and what it may be asked by. */
export interface SearchEntry {
  tenant: string;
  id: string;
  /** A search is within one group of one tenant. */
  group: string;
  /** Whose it is; the empty text is everybody's. */
  owner: string;
  kind: string;
  trust: string;
  tags: readonly string[];
  session: string;
  text: string;
  /** What it takes where it is kept. */
  bytes: number;
  createdAt: number;
  /** From then on nobody finds it. */
  expiresAt: number | undefined;
  /** Grows with each change: what is older than what is known is passed over. */
  version: number;
  /** Of an index whose vectors are given: the one of this text, once somebody made it. Until then it is found by its words. */
  vector?: Int8Array | undefined;
}

/** An entry that is there no more. */
export type GoneEntry = Pick<SearchEntry, 'tenant' | 'id' | 'version'> & { gone: true };

/** Whose entries are meant, as of which moment. */
export interface Scope {
  tenant: string;
  group?: string | undefined;
  /** Only those of these owners. */
  owners?: readonly string[] | undefined;
  /** Only those that are trusted so. */
  trust?: readonly string[] | undefined;
  now: number;
}

export interface SearchQuery extends Scope {
  group: string;
  text: string;
  limit: number;
  /** Also what is near without sharing a word; where vectors are given, near to this one. */
  vectors: boolean | Int8Array;
}

export interface SearchHits {
  /** Best first; 1 is what every lane puts first. */
  hits: readonly { id: string; score: number }[];
  textCandidates: number;
  vectorCandidates: number;
}

export interface ListQuery extends Scope {
  kinds?: readonly string[] | undefined;
  /** Entries that have all of them. */
  tags?: readonly string[] | undefined;
  oldestFirst: boolean;
  offset: number;
  limit: number;
}

export interface ListPage {
  ids: readonly string[];
  total: number;
}

/** Which groups, of all tenants, hold more than so many entries of a kind. */
export interface CrowdedQuery extends Pick<ListQuery, 'now' | 'trust' | 'kinds' | 'tags'> {
  most: number;
}

export interface Crowded {
  tenant: string;
  group: string;
  entries: number;
}

/** Which entries are near to one of them. */
export interface AlikeQuery extends Pick<Scope, 'tenant' | 'now' | 'trust'> {
  group: string;
  id: string;
  /** The least cosine; 1 is the same. */
  least: number;
  limit: number;
}

export interface IndexStats {
  entries: number;
  bytes: number;
  byKind: Readonly<Record<string, number>>;
  byTrust: Readonly<Record<string, number>>;
  byGroup: Readonly<Record<string, number>>;
  sessions: number;
  vectors: number;
  oldestCreatedAt: number | null;
}

/** How well vectors of questions are remembered. */
export interface VectorCacheStats {
  size: number;
  hits: number;
  misses: number;
  evictions: number;
}

/** What an index does; the same in the thread that does it and in the one that asks for it. */
export interface IndexWork {
  /** How far it has followed its source, as `apply` said it last; null when it begins anew. */
  followedTo(): number | null;
  /** All of it or nothing, with how far that is. */
  apply(changes: readonly (SearchEntry | GoneEntry)[], followedTo: number | null): void;
  /** Begins anew. */
  clear(): void;
  search(query: SearchQuery): SearchHits;
  list(query: ListQuery): ListPage;
  /** Whether there is anything at all in a scope. */
  has(scope: Scope): boolean;
  stats(scope: Scope): IndexStats;
  /** For who keeps house: it looks at all tenants. */
  crowded(query: CrowdedQuery): readonly Crowded[];
  /** Ids of entries of the same owner, nearest first, itself among them. */
  alike(query: AlikeQuery): readonly string[];
  cacheStats(): VectorCacheStats;
}

/**
 * A local index of texts by their words and by what they look like. It is derived: it may be lost at any time, and whoever has the
 * documents writes it anew. The work is done in a thread of its own, so that no search holds up anybody else.
 */
export type SearchIndex = {
  [N in keyof IndexWork]: (...given: Parameters<IndexWork[N]>) => Promise<ReturnType<IndexWork[N]>>;
} & AsyncDisposable & {
    /** Names how its vectors are made. */
    readonly model: string;
    /** Whether it can still be asked; one that cannot is opened anew. */
    readonly alive: boolean;
  };

export interface SearchIndexOptions {
  /** Names the database that it is derived from: of another one nothing in it is right. */
  identity: string;
  /** How many vectors of questions are remembered. */
  cachedVectors: number;
  /** No vectors are made of what it is told: it is found by its words. */
  wordsAlone?: boolean;
  /** Vectors are made elsewhere, by this; otherwise they are made here, of the letters of a text. */
  given?: VectorModel | undefined;
  /** What is written goes to a log beside the file first, which is faster. Where that may not be, changes are undone from a journal. */
  wal?: boolean;
}

/** How vectors are made: those of another name cannot be compared with these. */
export interface VectorModel {
  name: string;
  /** Numbers of a vector. */
  dimensions: number;
}
