import { LRUCache } from 'lru-cache';
import type { ModelRef, ModelRequest } from '../model/model.ts';

/** Of the longest silence a model may keep: whoever once took so much of it for one answer may need more for the next. */
const LONG = 0.25;
const MAX_SLOW_MODELS = 1_000;

/**
 * Which answers are asked for in one piece. That costs the least, but such an answer is silence until it is there: so a model
 * that once took long is asked to stream from then on, also where nobody reads along, and its work can be told from a stall.
 */
export interface Pace {
  whole(request: ModelRequest): boolean;
  /** An answer that was asked for in one piece came, or did not, in so many ms. */
  took(request: ModelRequest, ms: number): void;
}

export function createPace(): Pace {
  const slow = new LRUCache<string, true>({ max: MAX_SLOW_MODELS });
  return {
    whole: ({ model }) => !slow.has(nameOf(model)),
    took({ model, promptTimeoutMs }, ms) {
      if (ms < promptTimeoutMs * LONG) return;
      slow.set(nameOf(model), true);
    },
  };
}

function nameOf({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}
