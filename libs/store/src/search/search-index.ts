/** A text in the index and the attributes by which it is filtered. */
export interface SearchEntry {
  tenant: string;
  id: string;
  /** A search covers one group of one tenant. */
  group: string;
  /** The client that owns the entry; empty if it is shared. */
  owner: string;
  kind: string;
  trust: string;
  tags: readonly string[];
  session: string;
  text: string;
  /** Size of the source document. */
  bytes: number;
  createdAt: number;
  /** Searches do not find the entry from this time on. */
  expiresAt: number | undefined;
  /** Increases with each change. The index ignores versions older than the one it has. */
  version: number;
  /** The embedding of the text. Entries without one are found by their words. */
  vector?: Int8Array | undefined;
}

/** A deleted entry. */
export type DeletedEntry = Pick<SearchEntry, 'tenant' | 'id' | 'version'> & { gone: true };

/** The entries that a query covers, at a point in time. */
export interface Scope {
  tenant: string;
  group?: string | undefined;
  /** Restricts the query to these owners. */
  owners?: readonly string[] | undefined;
  /** Restricts the query to these trust levels. */
  trust?: readonly string[] | undefined;
  now: number;
}

export interface SearchQuery extends Scope {
  group: string;
  text: string;
  limit: number;
  /** Also finds words by their first four characters or more, and identifiers by such a part. For queries that name what they search. */
  partial?: boolean | undefined;
  /** The embedding of the text. Without it the search is by words. */
  vector?: Int8Array | undefined;
}

export interface SearchHits {
  /** Best first. The score is 1 for an entry that every method ranks first. */
  hits: readonly { id: string; score: number }[];
  textCandidates: number;
  vectorCandidates: number;
}

export interface ListQuery extends Scope {
  kinds?: readonly string[] | undefined;
  /** Restricts the query to entries that have all tags. */
  tags?: readonly string[] | undefined;
  oldestFirst: boolean;
  offset: number;
  limit: number;
}

export interface ListPage {
  ids: readonly string[];
  total: number;
}

/** Selects groups, of all tenants, with more than `max` matching entries. */
export interface GroupSizeQuery extends Pick<ListQuery, 'now' | 'trust' | 'kinds' | 'tags'> {
  max: number;
}

export interface GroupSize {
  tenant: string;
  group: string;
  entries: number;
}

/** Selects entries that are similar to one entry. */
export interface SimilarQuery extends Pick<Scope, 'tenant' | 'now' | 'trust'> {
  group: string;
  id: string;
  /** Minimum cosine similarity; 1 is identical. */
  minCosine: number;
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

/** The operations of an index. `SearchIndex` offers the same operations across a thread boundary. */
export interface SearchOperations {
  /** The position in the source up to which changes are applied, from the last `apply`; null for an empty index. */
  getPosition(): number | null;
  /** Applies all changes and the new position atomically. */
  apply(changes: readonly (SearchEntry | DeletedEntry)[], position: number | null): void;
  /** Deletes all entries and the position. */
  clear(): void;
  search(query: SearchQuery): SearchHits;
  list(query: ListQuery): ListPage;
  /** Returns whether the scope has any entry. */
  has(scope: Scope): boolean;
  stats(scope: Scope): IndexStats;
  /** Covers all tenants; for retention. */
  findLargeGroups(query: GroupSizeQuery): readonly GroupSize[];
  /** Returns ids of entries of the same owner, most similar first, including the entry itself. */
  findSimilar(query: SimilarQuery): readonly string[];
}

/**
 * A local full-text and vector index. It is derived from documents, may be lost at any time, and is then rebuilt by the owner of the
 * documents. The work runs in a worker thread, so that a search does not block the event loop.
 */
export type SearchIndex = {
  [N in keyof SearchOperations]: (...args: Parameters<SearchOperations[N]>) => Promise<ReturnType<SearchOperations[N]>>;
} & AsyncDisposable & {
    /** False after the index failed or was closed. The owner then opens it again. */
    readonly alive: boolean;
  };

export interface SearchIndexOptions {
  /** Identifies the source database. An index of another source is rebuilt. */
  identity: string;
  /** The embedding model of the vectors. An index of another model is rebuilt. Without a model the index has no vectors. */
  vectorModel?: VectorModel | undefined;
  /** Use a write-ahead log, which is faster (default). Set to false where the file system does not support it. */
  wal?: boolean;
}

/** An embedding model. Vectors of different models are not comparable. */
export interface VectorModel {
  name: string;
  dimensions: number;
}
