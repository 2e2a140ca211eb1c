import type { Settings } from '@switchyard/service-kit';
import type { EntryDeps } from '../entries/store-entry.ts';
import type { QueryVectorCache } from '../vectors/query-vector-cache.ts';
import type { VectorMaker } from '../vectors/vector-maker.ts';

export interface HandlerDeps extends EntryDeps {
  settings: Settings<'routing' | 'embedding'>;
  maker: VectorMaker;
  queryVectors: QueryVectorCache;
}
