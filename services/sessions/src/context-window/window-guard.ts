import type { ModelMessage } from '@switchyard/models';
import { toTokens } from './context-window.ts';

/** Limits for filling a model's context window. */
export interface WindowGuard {
  /** Size of the window in tokens. */
  window: number;
  /** Percentages at which a warning is issued and at which the model is no longer called. */
  warnPercent: number;
  blockPercent: number;
  /** Minimum tokens left for the answer. */
  leastOutput?: number;
}

/** A prompt measured against the window, in estimated tokens. */
export interface WindowMeasurement {
  tokens: number;
  used: number;
  system: number;
  messages: number;
  reserved: number;
  fits: boolean;
}

export interface GaugeListener {
  warn?: ((warning: string) => void) | undefined;
  onMeasured?: ((window: WindowMeasurement) => void) | undefined;
}

/** Measures a prompt against the window. */
export interface Gauge {
  /** Returns whether the prompt may be sent. */
  fits: (messages: readonly ModelMessage[]) => boolean;
}

export function createGauge(guard: WindowGuard | undefined, systemPrompt = '', { warn, onMeasured }: GaugeListener = {}): Gauge {
  let warned = false;
  return {
    fits(messages) {
      if (!guard) return true;
      const chars = messages.reduce((sum, message) => sum + countMessageChars(message), systemPrompt.length);
      const tokens = toTokens(chars);
      const percent = (tokens / guard.window) * 100;
      if (percent >= guard.warnPercent && !warned) {
        warned = true;
        warn?.(`The context window is ${Math.round(percent)} % full.`);
      }
      const reserved = guard.leastOutput ?? 0;
      const fits = percent < guard.blockPercent && guard.window - tokens >= reserved;
      const system = toTokens(systemPrompt.length);
      onMeasured?.({ tokens: guard.window, used: tokens, system, messages: messages.length, reserved, fits });
      return fits;
    },
  };
}

/** Sizes of messages that are not text alone, measured once. */
const measured = new WeakMap<ModelMessage, number>();

/** Returns the size of a message as the model reads it. */
export function countMessageChars(message: ModelMessage): number {
  if (message.role === 'tool') return typeof message.result === 'string' ? message.result.length : measure(message, message.result);
  if (message.role === 'user') return message.text.length;
  const { text, toolCalls = [], providerFields } = message;
  // The model reads its own calls and the fields of its provider again.
  if (toolCalls.length === 0 && providerFields === undefined) return text.length;
  const calls = toolCalls.map(({ name, text: input, providerFields: fields }) => [name, input, fields]);
  return text.length + measure(message, [calls, providerFields]);
}

function measure(message: ModelMessage, content: unknown): number {
  const chars = measured.get(message) ?? JSON.stringify(content ?? null).length;
  measured.set(message, chars);
  return chars;
}
