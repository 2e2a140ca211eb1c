import { join } from 'node:path';
import { memory as contract } from '@switchyard/contracts';
import { defineService, systemClock } from '@switchyard/service-kit';
import { entryCollection, questionCollection, reviewCollection } from './documents/collections.ts';
import { startTending } from './retention/retention.ts';
import type { Given } from './handlers/handler-deps.ts';
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
import { createPlace } from './index/index-location.ts';
import { createMemoryIndex } from './index/memory-index.ts';
import { startReviewing } from './review/reviews.ts';
import { startFilling } from './vectors/vector-backfill.ts';
import { createLocalModel, type LocalModelDeps } from './vectors/local-model.ts';
import { createQuestionCache } from './vectors/query-vector-cache.ts';
import { createVectorMaker } from './vectors/vector-maker.ts';

/** Interval at which the index reads the writes of other replicas. */
const LOOK_MS = 500;

const TEND_MS = 60_000;
const REVIEW_MS = 15_000;

export interface MemoryOptions {
  tendMs?: number;
  reviewMs?: number;
  /** Loads the library for local models. */
  load?: LocalModelDeps['load'];
}

/** Owns the memories of agents. */
export const memory = defineMemory();

/** The service with other intervals or another library, for tests. */
export function defineMemory({ tendMs = TEND_MS, reviewMs = REVIEW_MS, load }: MemoryOptions = {}) {
  return defineService({
    contract,
    version: '0.1.0',
    settings: ['routing', 'embedding', 'memory'],

    async setup({ settings, store, bus, log, own, replica, data, env }) {
      const collections = { entries: entryCollection, questions: questionCollection, reviews: reviewCollection };
      const { entries, questions: asked, reviews } = await store.open(collections);
      const place = createPlace(join(data, 'index'), settings);
      const common = { entries, store, settings, log, clock: systemClock, replica, lookMs: LOOK_MS };
      const questions = own.use(createQuestionCache({ ...common, questions: asked }));
      const local = own.use(createLocalModel({ settings, data, log, ...(load && { load }) }));
      const maker = createVectorMaker({ bus, settings, now: () => store.now(), questions, local });
      const index = own.use(createMemoryIndex({ ...common, place, model: () => maker.model() }));
      own.use(startFilling({ ...common, index, maker }));
      own.use(startTending({ ...common, index, tendMs }));
      own.use(await startReviewing({ ...common, index, reviews, bus, env, reviewMs }));
      const given: Given = { entries, store, index, settings, maker, questions };
      return {
        'memory.store': memoryStore(given),
        'memory.search': memorySearch(given),
        'memory.inspect': memoryInspect(given),
        'memory.browse': memoryBrowse(given),
        'memory.delete': memoryDelete(given),
        'memory.embeddingCache': memoryEmbeddingCache(given),
        'memory.export': memoryExport(given),
        'memory.stats': memoryStats(given),
        'memory.flush': memoryFlush(given),
        'memory.recall': memoryRecall(given),
        'memory.capture': memoryCapture(given),
        'memory.forgetSession': memoryForgetSession(given),
      };
    },
  });
}
