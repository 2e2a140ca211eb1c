import type { Settings } from '@switchyard/service-kit';
import type { Entries } from '../entries/store-entry.ts';
import type { QuestionCache } from '../vectors/query-vector-cache.ts';
import type { VectorMaker } from '../vectors/vector-maker.ts';

export interface Given extends Entries {
  settings: Settings<'routing' | 'embedding'>;
  maker: VectorMaker;
  questions: QuestionCache;
}
