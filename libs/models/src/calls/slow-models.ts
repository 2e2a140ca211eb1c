import { LRUCache } from 'lru-cache';
import type { ModelRef, ModelRequest } from '../model/model.ts';

/** Fraction of the prompt timeout above which a model counts as slow. */
const SLOW_FRACTION = 0.25;
const MAX_SLOW_MODELS = 1_000;

/**
 * Decides whether a response is requested non-streaming, which is cheapest. Such a response is silent until it is complete. A model that
 * was slow once is therefore always streamed, so that slow work can be distinguished from a stall.
 */
export interface SlowModels {
  allowsNonStreaming(request: ModelRequest): boolean;
  /** Records the duration of a non-streaming response. */
  recordDuration(request: ModelRequest, ms: number): void;
}

export function createSlowModels(): SlowModels {
  const slow = new LRUCache<string, true>({ max: MAX_SLOW_MODELS });
  return {
    allowsNonStreaming: ({ model }) => !slow.has(formatModelName(model)),
    recordDuration({ model, promptTimeoutMs }, ms) {
      if (ms < promptTimeoutMs * SLOW_FRACTION) return;
      slow.set(formatModelName(model), true);
    },
  };
}

function formatModelName({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}
