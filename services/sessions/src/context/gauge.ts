import type { ModelMessage } from '@switchyard/models';
import { tokensOf } from './room.ts';

/** How much of a model’s window may be filled. */
export interface WindowGuard {
  /** Tokens that fit it. */
  window: number;
  /** In percent of it: where its owner is warned, and where the model is not asked any more. */
  warnPercent: number;
  blockPercent: number;
}

/** Measures what a model is about to be told, each message once. */
export interface Gauge {
  /** Whether it may be told. */
  fits: (messages: readonly ModelMessage[]) => boolean;
  /** What was measured may be shorter by now. */
  anew: () => void;
}

export function createGauge(guard: WindowGuard | undefined, system = '', warn?: (warning: string) => void): Gauge {
  let counted = 0;
  let chars = system.length;
  let warned = false;
  return {
    anew: () => void ([counted, chars] = [0, system.length]),
    fits(messages) {
      if (!guard) return true;
      for (; counted < messages.length; counted += 1) chars += charsOf(messages[counted]);
      const percent = (tokensOf(chars) / guard.window) * 100;
      if (percent >= guard.warnPercent && !warned) {
        warned = true;
        warn?.(`The window of the model is ${Math.round(percent)} % full.`);
      }
      return percent < guard.blockPercent;
    },
  };
}

/** How long a message is, as a model reads it. */
export function charsOf(message: ModelMessage | undefined): number {
  if (message === undefined) return 0;
  if (message.role !== 'tool') return message.text.length;
  return typeof message.result === 'string' ? message.result.length : JSON.stringify(message.result ?? null).length;
}
