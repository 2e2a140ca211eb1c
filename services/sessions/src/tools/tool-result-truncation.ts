import { toolName } from '@switchyard/contracts';
import type { ToolError } from '../model/checkpoint-log.ts';
import type { SkillLimit } from '../model/skill-limits.ts';

export interface ToolResult {
  result: unknown;
  failed: boolean;
  /** Why the call failed; absent if the tool itself reported the failure. */
  error?: ToolError;
  /** Id of the complete text, if the model sees only its beginning. */
  storedId?: string;
  /** The result may contain text from outside. */
  untrusted?: true;
  /** Length of that text. */
  storedChars?: number;
  /** Tools that a skill leaves to the rest of the turn. */
  allowedTools?: SkillLimit;
}

/** Storage of long tool results. */
export interface ResultStorage {
  /** Stores a result and returns its id. Without it the rest of a long result is lost. */
  store?: ((text: string) => Promise<string>) | undefined;
  /** An earlier run of the turn has stored results. */
  hasStored?: boolean;
}

/** Method that reads a stored result. */
export const READ_RESULT_TOOL = 'ctx.result';

/** Maximum characters of a stored result. */
const MAX_STORED_CHARS = 2_000_000;

/** Truncates long tool results for the model, with a reference to the rest. */
export interface ResultTruncation {
  truncate(result: unknown): Promise<ToolResult>;
  /** Whether any result is stored. */
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
      const text = getText(result);
      if (text.length <= maxChars) return { result, failed: false };
      if (!store || !readable()) return { result: truncateResult(result, maxChars), failed: false };
      const stored = text.slice(0, MAX_STORED_CHARS).toWellFormed();
      const storedId = await store(stored);
      some = true;
      return { result: pointer(text, maxChars, storedId), failed: false, storedId, storedChars: stored.length };
    },
  };
}

function pointer(text: string, maxChars: number, id: string): string {
  const gone = text.length > MAX_STORED_CHARS ? ` Only the first ${MAX_STORED_CHARS} characters are stored.` : '';
  const rest = `${toolName(READ_RESULT_TOOL)} ${JSON.stringify({ id, offset: maxChars })} returns the next part.`;
  return `${text.slice(0, maxChars).toWellFormed()}… [truncated: ${text.length - maxChars} of ${text.length} characters follow.${gone} ${rest}]`;
}

/** Returns the result, or its beginning with a note about the missing rest. */
export function truncateResult(result: unknown, maxChars: number): unknown {
  const text = getText(result);
  if (text.length <= maxChars) return result;
  return `${text.slice(0, maxChars).toWellFormed()}… [truncated: ${text.length - maxChars} of ${text.length} characters removed]`;
}

function getText(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
}
