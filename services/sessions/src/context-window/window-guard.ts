import type { ModelMessage } from '@switchyard/models';
import { tokensOf } from './context-window.ts';

/** How much of a model’s window may be filled. */
export interface WindowGuard {
  /** Tokens that fit it. */
  window: number;
  /** In percent of it: where its owner is warned, and where the model is not asked any more. */
  warnPercent: number;
  blockPercent: number;
  /** So many must be left for the answer. */
  leastOutput?: number;
}

/** Measures what a model is about to be told. */
export interface Gauge {
  /** Whether it may be told. */
  fits: (messages: readonly ModelMessage[]) => boolean;
}

export function createGauge(guard: WindowGuard | undefined, system = '', warn?: (warning: string) => void): Gauge {
  let warned = false;
  return {
    fits(messages) {
      if (!guard) return true;
      const chars = messages.reduce((sum, message) => sum + charsOf(message), system.length);
      const tokens = tokensOf(chars);
      const percent = (tokens / guard.window) * 100;
      if (percent >= guard.warnPercent && !warned) {
        warned = true;
        warn?.(`The window of the model is ${Math.round(percent)} % full.`);
      }
      return percent < guard.blockPercent && guard.window - tokens >= (guard.leastOutput ?? 0);
    },
  };
}

/** How long results are that are no text: each is measured once, however often it is told. */
const measured = new WeakMap<ModelMessage, number>();

/** How long a message is, as a model reads it. */
export function charsOf(message: ModelMessage): number {
  if (message.role !== 'tool') return message.text.length;
  if (typeof message.result === 'string') return message.result.length;
  const chars = measured.get(message) ?? JSON.stringify(message.result ?? null).length;
  measured.set(message, chars);
  return chars;
}
