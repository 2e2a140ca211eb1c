import { join } from 'node:path';
import { memory as contract } from '@switchyard/contracts';
import { defineService, systemClock } from '@switchyard/service-kit';
import { entryCollection, queryVectorCollection, reviewCollection } from './documents/collections.ts';
import { startRetention } from './retention/retention.ts';
import type { HandlerDeps } from './handlers/handler-deps.ts';
import { memoryBrowse } from './handlers/memory-browse.ts';
import { memoryCapture } from './handlers/memory-capture.ts';
import { memoryDelete } from './handlers/memory-delete.ts';
import { memoryEmbeddingCache } from './handlers/memory-embedding-cache.ts';
import { memoryExport } from './handlers/memory-export.ts';
import { memoryForgetSession } from './handlers/memory-forget-session.ts';
import { memoryFlush } from './handlers/memory-flush.ts';
import { memoryInspect } from './handlers/memory-inspect.ts';
import { memoryRecall } from './handlers/memory-recall.ts';
import { memorySearch } from './handlers/memory-search.ts';
import { memoryStats } from './handlers/memory-stats.ts';
import { memoryStore } from './handlers/memory-store.ts';
import { createIndexLocation } from './index/index-location.ts';
import { createMemoryIndex } from './index/memory-index.ts';
import { startReviews } from './review/reviews.ts';
import { startVectorBackfill } from './vectors/vector-backfill.ts';
import { createLocalModel, type LocalModelDeps } from './vectors/local-model.ts';
import { createQueryVectorCache } from './vectors/query-vector-cache.ts';
import { createVectorMaker } from './vectors/vector-maker.ts';

/** Interval at which the index reads the writes of other replicas. */
const POLL_INTERVAL_MS = 500;

const RETENTION_INTERVAL_MS = 60_000;
const REVIEW_INTERVAL_MS = 15_000;

export interface MemoryOptions {
  retentionMs?: number;
  reviewMs?: number;
  /** Loads the library for local models. */
  load?: LocalModelDeps['load'];
}

/** Owns the memories of agents. */
export const memory = defineMemory();

/** The service with other intervals or another library, for tests. */
export function defineMemory({ retentionMs = RETENTION_INTERVAL_MS, reviewMs = REVIEW_INTERVAL_MS, load }: MemoryOptions = {}) {
  return defineService({
    contract,
    version: '0.1.0',
    settings: ['routing', 'embedding', 'memory'],

    async setup({ settings, store, bus, log, own, replica, data, env }) {
      const collections = { entries: entryCollection, queryVectors: queryVectorCollection, reviews: reviewCollection };
      const { entries, queryVectors: queryVectorDocuments, reviews } = await store.open(collections);
      const location = createIndexLocation(join(data, 'index'), settings);
      const common = { entries, store, settings, log, clock: systemClock, replica, pollMs: POLL_INTERVAL_MS };
      const queryVectors = own.use(createQueryVectorCache({ ...common, queryVectors: queryVectorDocuments }));
      const local = own.use(createLocalModel({ settings, data, log, ...(load && { load }) }));
      const maker = createVectorMaker({ bus, settings, now: () => store.now(), queryVectors, local });
      const index = own.use(createMemoryIndex({ ...common, location, model: () => maker.model() }));
      own.use(startVectorBackfill({ ...common, index, maker }));
      own.use(startRetention({ ...common, index, retentionMs }));
      own.use(await startReviews({ ...common, index, reviews, bus, env, reviewMs }));
      const deps: HandlerDeps = { entries, store, index, settings, maker, queryVectors };
      return {
        'memory.store': memoryStore(deps),
        'memory.search': memorySearch(deps),
        'memory.inspect': memoryInspect(deps),
        'memory.browse': memoryBrowse(deps),
        'memory.delete': memoryDelete(deps),
        'memory.embeddingCache': memoryEmbeddingCache(deps),
        'memory.export': memoryExport(deps),
        'memory.stats': memoryStats(deps),
        'memory.flush': memoryFlush(deps),
        'memory.recall': memoryRecall(deps),
        'memory.capture': memoryCapture(deps),
        'memory.forgetSession': memoryForgetSession(deps),
      };
    },
  });
}
