import { createHash } from 'node:crypto';
import type { Sections } from '@switchyard/contracts';
import type { Clock, Settings } from '@switchyard/service-kit';
import { inserted, type Collection, type Documents, type Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { LRUCache } from 'lru-cache';
import type { QueryVectorDocument } from '../documents/collections.ts';

/** The key of a cached vector. Vectors are not shared between tenants, because each tenant pays for its own. */
export interface QueryKey {
  tenant: string;
  model: string;
  text: string;
}

/** Statistics of one cache level. */
export interface LevelStats {
  entries: number;
  maxEntries: number;
  hits: number;
  misses: number;
  evictions: number;
}

/** Caches the vectors of search queries in memory and, with `embedding.cache.persistent`, in the database. */
export interface QueryVectorCache extends AsyncDisposable {
  get(key: QueryKey): Promise<Int8Array | undefined>;
  /** Stores a vector in the background. A failed write to the database is logged and ignored. */
  put(key: QueryKey, vector: Int8Array): void;
  /** `l2` is the database level, if it is enabled. */
  stats(): Promise<{ l1: LevelStats; l2?: LevelStats }>;
}

export interface QueryVectorCacheDeps {
  queryVectors: Collection<QueryVectorDocument>;
  store: Pick<Store, 'now'>;
  settings: Settings<'embedding'>;
  clock: Clock;
  log: Logger;
}

const PRUNE_BATCH_SIZE = 500;

type MemoryLevelSettings = Pick<Sections['embedding']['cache'], 'maxEntries' | 'ttlMs'>;

interface MemoryLevel extends MemoryLevelSettings {
  vectors: LRUCache<string, Int8Array>;
}

export function createQueryVectorCache(deps: QueryVectorCacheDeps): QueryVectorCache {
  const { queryVectors, store, settings, clock, log } = deps;
  const [l1, l2] = [createCounters(), createCounters()];
  const cache = () => settings.current.embedding.cache;
  let memoryLevel = createMemoryLevel(cache());
  const isFresh = (createdAt: number): boolean => createdAt + (cache().ttlMs ?? Infinity) > store.now();
  let [closed, work]: [boolean, Promise<void>] = [false, Promise.resolve()];

  function createMemoryLevel({ maxEntries, ttlMs }: MemoryLevelSettings): MemoryLevel {
    const vectors = new LRUCache<string, Int8Array>({
      maxSize: Math.max(maxEntries, 1),
      sizeCalculation: () => 1,
      ttl: ttlMs ?? 0,
      ttlResolution: 0,
      perf: store,
      dispose: (_vector, _id, reason) => {
        if (reason === 'evict') l1.evictions += 1;
      },
    });
    return { maxEntries, ttlMs, vectors };
  }

  /** The bounds of an LRUCache are fixed: after a change of the settings the memory level starts empty. */
  function inMemory(): LRUCache<string, Int8Array> {
    const { maxEntries, ttlMs } = cache();
    if (maxEntries !== memoryLevel.maxEntries || ttlMs !== memoryLevel.ttlMs) memoryLevel = createMemoryLevel({ maxEntries, ttlMs });
    return memoryLevel.vectors;
  }

  function storeInMemory(id: string, vector: Int8Array, createdAt: number): void {
    if (cache().maxEntries > 0) inMemory().set(id, vector, { start: createdAt });
  }

  function getFromMemory(id: string): Int8Array | undefined {
    const vector = inMemory().get(id);
    if (vector === undefined) l1.misses += 1;
    else l1.hits += 1;
    return vector;
  }

  async function getFromDatabase(tenant: string, id: string): Promise<Int8Array | undefined> {
    if (!cache().persistent) return undefined;
    const found = await queryVectors.for({ tenant }).get(id);
    if (!found || !isFresh(found.createdAt)) {
      l2.misses += 1;
      return undefined;
    }
    l2.hits += 1;
    const vector = new Int8Array(Buffer.from(found.vector, 'base64'));
    storeInMemory(id, vector, found.createdAt);
    return vector;
  }

  async function prune(): Promise<void> {
    inMemory().purgeStale();
    l2.evictions += await trim(deps, () => closed);
  }

  /** Schedules the next run with the current setting. */
  function schedulePrune(): () => void {
    return clock.after(cache().pruneIntervalMs, () => {
      work = prune()
        .catch((err: unknown) => {
          if (!closed) log.warn({ err, errorKind: 'dependency', hint: 'the next run retries' }, 'failed to prune the query vector cache');
        })
        .finally(() => {
          if (!closed) stop = schedulePrune();
        });
    });
  }
  let stop = schedulePrune();

  return {
    async get({ tenant, model, text }) {
      const id = hashKey({ tenant, model, text });
      return getFromMemory(id) ?? (await getFromDatabase(tenant, id));
    },

    put({ tenant, model, text }, vector) {
      const id = hashKey({ tenant, model, text });
      const createdAt = store.now();
      storeInMemory(id, vector, createdAt);
      const { persistent, persistentMaxEntries, ttlMs } = cache();
      if (!persistent || persistentMaxEntries === 0) return;
      const fields = {
        createdAt,
        vector: Buffer.from(vector).toString('base64'),
        ...(ttlMs === undefined ? {} : { purgeAt: createdAt + ttlMs }),
      };
      storeInDatabase(queryVectors.for({ tenant }), { id, ...fields }).catch((err: unknown) => {
        log.debug({ err, errorKind: 'dependency', hint: 'it is computed again' }, 'failed to store a query vector');
      });
    },

    async stats() {
      const { maxEntries, persistent, persistentMaxEntries } = cache();
      const memoryStats = { ...l1, entries: inMemory().size, maxEntries };
      if (!persistent) return { l1: memoryStats };
      return {
        l1: memoryStats,
        l2: { ...l2, entries: await queryVectors.system().count({ createdAt: { gt: 0 } }), maxEntries: persistentMaxEntries },
      };
    },

    async [Symbol.asyncDispose]() {
      closed = true;
      stop();
      await work;
    },
  };
}

/** Overwrites an existing document, which has expired. */
async function storeInDatabase(documents: Documents<QueryVectorDocument>, { id, ...fields }: QueryVectorDocument): Promise<void> {
  if (await documents.update({ id }, { set: fields })) return;
  await inserted(() => documents.insert({ id, ...fields }));
}

function createCounters() {
  return { hits: 0, misses: 0, evictions: 0 };
}

/** Removes the oldest documents above the limit, or all if the level is disabled. Concurrent replicas remove the same ones. */
async function trim({ queryVectors, settings }: QueryVectorCacheDeps, closed: () => boolean): Promise<number> {
  const all = queryVectors.system();
  const { persistent, persistentMaxEntries } = settings.current.embedding.cache;
  const max = persistent ? persistentMaxEntries : 0;
  let removed = 0;
  for (let excess = (await all.count({ createdAt: { gt: 0 } })) - max; excess > 0 && !closed(); excess -= PRUNE_BATCH_SIZE) {
    const { items } = await all.find({ createdAt: { gt: 0 } }, { sort: [['createdAt', 'asc']], limit: Math.min(excess, PRUNE_BATCH_SIZE) });
    if (items.length === 0) break;
    for (const { tenant, id } of items) removed += await queryVectors.for({ tenant }).remove({ id });
  }
  return removed;
}

/** A hash, so that the database does not contain the query. */
function hashKey({ tenant, model, text }: QueryKey): string {
  return createHash('sha256')
    .update(JSON.stringify([tenant, model, text]))
    .digest('hex');
}
