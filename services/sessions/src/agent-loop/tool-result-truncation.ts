import { toolName } from '@switchyard/contracts';

export interface ToolResult {
  result: unknown;
  failed: boolean;
  /** Under which all of it is kept, where the model is shown the beginning. */
  whole?: string;
}

/** Where long answers of the tools of a turn are kept. */
export interface Keeping {
  /** Keeps one, and gives the id by which it is read. Without it the rest of such an answer is lost. */
  keep?: ((text: string) => Promise<string>) | undefined;
  /** An earlier run of the turn has kept some. */
  kept?: boolean;
}

/** Reads on in an answer that was kept. */
export const READ_ON = 'ctx.result';

/** More of one answer is not kept. */
const MOST_KEPT_CHARS = 2_000_000;

/** What a model is shown of long answers of tools: the beginning, and where the rest is. */
export interface Shortening {
  shown(result: unknown): Promise<ToolResult>;
  /** Whether there is something to be read on in. */
  readonly kept: boolean;
}

export interface ShorteningGiven {
  maxChars: number;
  /** Whether the model may read on: asked only where something is too long. */
  readable: () => boolean;
}

export function createShortening({ keep, kept = false }: Keeping, { maxChars, readable }: ShorteningGiven): Shortening {
  let some = kept && readable();
  return {
    get kept() {
      return some;
    },
    async shown(result) {
      const text = textOf(result);
      if (text.length <= maxChars) return { result, failed: false };
      if (!keep || !readable()) return { result: cut(result, maxChars), failed: false };
      const whole = await keep(text.slice(0, MOST_KEPT_CHARS).toWellFormed());
      some = true;
      return { result: pointer(text, maxChars, whole), failed: false, whole };
    },
  };
}

function pointer(text: string, maxChars: number, id: string): string {
  const gone = text.length > MOST_KEPT_CHARS ? ` Of it the first ${MOST_KEPT_CHARS} are kept.` : '';
  const rest = `${toolName(READ_ON)} ${JSON.stringify({ id, offset: maxChars })} reads on.`;
  return `${text.slice(0, maxChars).toWellFormed()}… [cut: ${text.length - maxChars} of ${text.length} characters follow.${gone} ${rest}]`;
}

/** What a model is shown of a result: all of it, or its beginning and a word on how much is missing. */
export function cut(result: unknown, maxChars: number): unknown {
  const text = textOf(result);
  if (text.length <= maxChars) return result;
  return `${text.slice(0, maxChars).toWellFormed()}… [cut: ${text.length - maxChars} of ${text.length} characters left out]`;
}

function textOf(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
}
