import { toolName } from '@switchyard/contracts';

export interface ToolResult {
  result: unknown;
  failed: boolean;
  /** Id of the complete text, if the model sees only its beginning. */
  whole?: string;
}

/** Storage of long tool results. */
export interface Keeping {
  /** Stores a result and returns its id. Without it the rest of a long result is lost. */
  keep?: ((text: string) => Promise<string>) | undefined;
  /** An earlier run of the turn has stored results. */
  kept?: boolean;
}

/** Method that reads a stored result. */
export const READ_ON = 'ctx.result';

/** Maximum characters of a stored result. */
const MOST_KEPT_CHARS = 2_000_000;

/** Truncates long tool results for the model, with a reference to the rest. */
export interface Shortening {
  shown(result: unknown): Promise<ToolResult>;
  /** Whether any result is stored. */
  readonly kept: boolean;
}

export interface ShorteningGiven {
  maxChars: number;
  /** Returns whether the model may read stored results. Called only for long results. */
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

/** Returns the result, or its beginning with a note about the missing rest. */
export function cut(result: unknown, maxChars: number): unknown {
  const text = textOf(result);
  if (text.length <= maxChars) return result;
  return `${text.slice(0, maxChars).toWellFormed()}… [cut: ${text.length - maxChars} of ${text.length} characters left out]`;
}

function textOf(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
}
