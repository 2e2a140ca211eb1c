import { toolName } from '@switchyard/contracts';

export interface ToolResult {
  result: unknown;
  failed: boolean;
  /** Under which all of it is kept, where the model is shown the beginning. */
  storedId?: string;
}

/** Where long answers of the tools of a turn are kept. */
export interface ResultStorage {
  /** Keeps one, and gives the id by which it is read. Without it the rest of such an answer is lost. */
  store?: ((text: string) => Promise<string>) | undefined;
  /** An earlier run of the turn has kept some. */
  hasStored?: boolean;
}

/** Reads on in an answer that was kept. */
export const READ_RESULT_TOOL = 'ctx.result';

/** More of one answer is not kept. */
const MAX_STORED_CHARS = 2_000_000;

/** What a model is shown of long answers of tools: the beginning, and where the rest is. */
export interface ResultTruncation {
  truncate(result: unknown): Promise<ToolResult>;
  /** Whether there is something to be read on in. */
  readonly hasStored: boolean;
}

export interface TruncationOptions {
  maxChars: number;
  /** Returns whether the model may read stored results. Called only for long results. */
  readable: () => boolean;
}

export function createResultTruncation(
  { store, hasStored = false }: ResultStorage,
  { maxChars, readable }: TruncationOptions,
): ResultTruncation {
  let some = hasStored && readable();
  return {
    get hasStored() {
      return some;
    },
    async truncate(result) {
      const text = textOf(result);
      if (text.length <= maxChars) return { result, failed: false };
      if (!store || !readable()) return { result: truncateResult(result, maxChars), failed: false };
      const whole = await store(text.slice(0, MAX_STORED_CHARS).toWellFormed());
      some = true;
      return { result: pointer(text, maxChars, whole), failed: false, storedId: whole };
    },
  };
}

function pointer(text: string, maxChars: number, id: string): string {
  const gone = text.length > MAX_STORED_CHARS ? ` Of it the first ${MAX_STORED_CHARS} are kept.` : '';
  const rest = `${toolName(READ_RESULT_TOOL)} ${JSON.stringify({ id, offset: maxChars })} reads on.`;
  return `${text.slice(0, maxChars).toWellFormed()}… [cut: ${text.length - maxChars} of ${text.length} characters follow.${gone} ${rest}]`;
}

/** What a model is shown of a result: all of it, or its beginning and a word on how much is missing. */
export function truncateResult(result: unknown, maxChars: number): unknown {
  const text = textOf(result);
  if (text.length <= maxChars) return result;
  return `${text.slice(0, maxChars).toWellFormed()}… [cut: ${text.length - maxChars} of ${text.length} characters left out]`;
}

function textOf(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
}
