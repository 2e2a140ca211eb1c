import type { Settings } from '@switchyard/service-kit';
import type { Entries } from '../entries/remember.ts';
import type { QuestionCache } from '../vectors/question-cache.ts';
import type { VectorMaker } from '../vectors/vector-maker.ts';

/** What every handler works with. */
export interface Given extends Entries {
  settings: Settings<'routing' | 'embedding'>;
  maker: VectorMaker;
  questions: QuestionCache;
}
