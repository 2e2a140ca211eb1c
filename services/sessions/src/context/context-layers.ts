import type { ContextLayerEvidence } from '@switchyard/contracts';
import { toTokens } from '../context-window/context-window.ts';

/** Layers between a conversation and its model, in the order in which they run. */
export const CONTEXT_LAYERS = [
  'history-window',
  'summaries',
  'result-eviction',
  'result-masking',
  'result-pruning',
  'window-guard',
] as const;
export type ContextLayerName = (typeof CONTEXT_LAYERS)[number];

/** Result of one pass of a layer over the messages of a prompt. */
export interface LayerPass {
  messagesIn: number;
  messagesOut: number;
  /** Characters that the pass removed from the prompt. */
  removedChars?: number;
  /** Removed parts by reason. */
  removed?: Readonly<Record<string, number>>;
  /** The pass works on a copy and removes the same parts again in each step, so that its figures replace the earlier ones. */
  repeats?: true;
}

/** Starts the clock of a layer. The returned function records the pass. */
export type StartLayer = (name: ContextLayerName) => (pass: LayerPass) => void;

export interface LayerRecorder {
  start: StartLayer;
  /** Returns undefined if no layer ran. */
  build(): ContextLayerEvidence[] | undefined;
}

/** Sums the passes of each layer over a turn. */
export function createLayerRecorder(now: () => number): LayerRecorder {
  const layers = new Map<ContextLayerName, { ms: number; pass: LayerPass }>();
  return {
    start(name) {
      const started = now();
      return (pass) => {
        const earlier = layers.get(name);
        layers.set(name, { ms: (earlier?.ms ?? 0) + now() - started, pass: earlier && !pass.repeats ? merge(earlier.pass, pass) : pass });
      };
    },
    build() {
      if (layers.size === 0) return undefined;
      return CONTEXT_LAYERS.flatMap((name) => {
        const layer = layers.get(name);
        return layer ? [toEvidence(name, layer.ms, layer.pass)] : [];
      });
    },
  };
}

function merge(earlier: LayerPass, pass: LayerPass): LayerPass {
  const removed: Record<string, number> = { ...earlier.removed };
  for (const [reason, count] of Object.entries(pass.removed ?? {})) removed[reason] = (removed[reason] ?? 0) + count;
  return { ...pass, removedChars: (earlier.removedChars ?? 0) + (pass.removedChars ?? 0), removed };
}

function toEvidence(
  name: ContextLayerName,
  ms: number,
  { messagesIn, messagesOut, removedChars = 0, removed = {} }: LayerPass,
): ContextLayerEvidence {
  return {
    name,
    ms: Math.round(ms * 1_000) / 1_000,
    messagesIn,
    messagesOut,
    ...(removedChars === 0 ? {} : { removedTokens: toTokens(removedChars) }),
    ...(Object.keys(removed).length === 0 ? {} : { removed: { ...removed } }),
  };
}
