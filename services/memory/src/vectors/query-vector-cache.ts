import { createHash } from 'node:crypto';
import type { Sections } from '@switchyard/contracts';
import type { Clock, Settings } from '@switchyard/service-kit';
import { inserted, type Collection, type Documents, type Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { LRUCache } from 'lru-cache';
import type { QuestionDocument } from '../documents/collections.ts';

/** The key of a cached vector. Vectors are not shared between tenants, because each tenant pays for its own. */
export interface Question {
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
export interface QuestionCache extends AsyncDisposable {
  get(question: Question): Promise<Int8Array | undefined>;
  /** Stores a vector in the background. A failed write to the database is logged and ignored. */
  put(question: Question, vector: Int8Array): void;
  /** `l2` is the database level, if it is enabled. */
  stats(): Promise<{ l1: LevelStats; l2?: LevelStats }>;
}

export interface QuestionCacheDeps {
  questions: Collection<QuestionDocument>;
  store: Pick<Store, 'now'>;
  settings: Settings<'embedding'>;
  clock: Clock;
  log: Logger;
}

const BATCH = 500;

type MemoryLevelSettings = Pick<Sections['embedding']['cache'], 'maxEntries' | 'ttlMs'>;

interface MemoryLevel extends MemoryLevelSettings {
  vectors: LRUCache<string, Int8Array>;
}

export function createQuestionCache(deps: QuestionCacheDeps): QuestionCache {
  const { questions, store, settings, clock, log } = deps;
  const [l1, l2] = [counts(), counts()];
  const cache = () => settings.current.embedding.cache;
  let memoryLevel = createMemoryLevel(cache());
  const isFresh = (madeAt: number): boolean => madeAt + (cache().ttlMs ?? Infinity) > store.now();
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

  function storeInMemory(id: string, vector: Int8Array, madeAt: number): void {
    if (cache().maxEntries > 0) inMemory().set(id, vector, { start: madeAt });
  }

  function getFromMemory(id: string): Int8Array | undefined {
    const vector = inMemory().get(id);
    if (vector === undefined) l1.misses += 1;
    else l1.hits += 1;
    return vector;
  }

  async function fromDatabase(tenant: string, id: string): Promise<Int8Array | undefined> {
    if (!cache().persistent) return undefined;
    const found = await questions.for({ tenant }).get(id);
    if (!found || !isFresh(found.madeAt)) {
      l2.misses += 1;
      return undefined;
    }
    l2.hits += 1;
    const vector = new Int8Array(Buffer.from(found.vector, 'base64'));
    storeInMemory(id, vector, found.madeAt);
    return vector;
  }

  async function prune(): Promise<void> {
    inMemory().purgeStale();
    l2.evictions += await trim(deps, () => closed);
  }

  /** Schedules the next run with the current setting. */
  function later(): () => void {
    return clock.after(cache().pruneIntervalMs, () => {
      work = prune()
        .catch((err: unknown) => {
          if (!closed) log.warn({ err, errorKind: 'dependency', hint: 'the next run retries' }, 'failed to prune the query vector cache');
        })
        .finally(() => {
          if (!closed) stop = later();
        });
    });
  }
  let stop = later();

  return {
    async get({ tenant, model, text }) {
      const id = idOf({ tenant, model, text });
      return getFromMemory(id) ?? (await fromDatabase(tenant, id));
    },

    put({ tenant, model, text }, vector) {
      const id = idOf({ tenant, model, text });
      const madeAt = store.now();
      storeInMemory(id, vector, madeAt);
      const { persistent, persistentMaxEntries, ttlMs } = cache();
      if (!persistent || persistentMaxEntries === 0) return;
      const made = { madeAt, vector: Buffer.from(vector).toString('base64'), ...(ttlMs === undefined ? {} : { forgetAt: madeAt + ttlMs }) };
      keepThere(questions.for({ tenant }), { id, ...made }).catch((err: unknown) => {
        log.debug({ err, errorKind: 'dependency', hint: 'it is computed again' }, 'failed to store a query vector');
      });
    },

    async stats() {
      const { maxEntries, persistent, persistentMaxEntries } = cache();
      const first = { ...l1, entries: inMemory().size, maxEntries };
      if (!persistent) return { l1: first };
      return { l1: first, l2: { ...l2, entries: await questions.system().count({ madeAt: { gt: 0 } }), maxEntries: persistentMaxEntries } };
    },

    async [Symbol.asyncDispose]() {
      closed = true;
      stop();
      await work;
    },
  };
}

/** Overwrites an existing document, which has expired. */
async function keepThere(mine: Documents<QuestionDocument>, { id, ...made }: QuestionDocument): Promise<void> {
  if (await mine.update({ id }, { set: made })) return;
  await inserted(() => mine.insert({ id, ...made }));
}

function counts() {
  return { hits: 0, misses: 0, evictions: 0 };
}

/** Removes the oldest documents above the limit, or all if the level is disabled. Concurrent replicas remove the same ones. */
async function trim({ questions, settings }: QuestionCacheDeps, closed: () => boolean): Promise<number> {
  const all = questions.system();
  const { persistent, persistentMaxEntries } = settings.current.embedding.cache;
  const most = persistent ? persistentMaxEntries : 0;
  let removed = 0;
  for (let over = (await all.count({ madeAt: { gt: 0 } })) - most; over > 0 && !closed(); over -= BATCH) {
    const { items } = await all.find({ madeAt: { gt: 0 } }, { sort: [['madeAt', 'asc']], limit: Math.min(over, BATCH) });
    if (items.length === 0) break;
    for (const { tenant, id } of items) removed += await questions.for({ tenant }).remove({ id });
  }
  return removed;
}

/** A hash, so that the database does not contain the query. */
function idOf({ tenant, model, text }: Question): string {
  return createHash('sha256')
    .update(JSON.stringify([tenant, model, text]))
    .digest('hex');
}
