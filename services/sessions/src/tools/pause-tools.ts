import { inputSchema, MAX } from '@switchyard/contracts';
import { z } from 'zod';
import type { Tool } from './tool-catalog.ts';

/** Names of the tools at which a turn waits. */
export const ASK_USER = 'ask_user';
export const SLEEP_UNTIL = 'sleep_until';

const MIN_WAIT_MS = 1_000;
const DAY_MS = 86_400_000;
/** A turn sleeps no longer than this. */
export const MAX_SLEEP_MS = 7 * DAY_MS;

export const AskUserInput = z.strictObject({
  question: z.string().trim().min(1).max(MAX.line).describe('one question, in the language of the user'),
  options: z.array(z.string().min(1).max(MAX.name)).min(2).max(MAX.words).optional().describe('suggested answers'),
  timeoutMs: z.int().min(MIN_WAIT_MS).max(DAY_MS).default(3_600_000).describe('time in milliseconds to wait for the answer'),
});

export const SleepUntilInput = z
  .strictObject({
    at: z.iso.datetime({ offset: true }).optional().describe('time in ISO 8601 with an offset, for example 2026-03-01T09:00:00+01:00'),
    afterMs: z.int().min(MIN_WAIT_MS).max(MAX_SLEEP_MS).optional().describe('time in milliseconds from now'),
  })
  .refine(({ at, afterMs }) => (at === undefined) !== (afterMs === undefined), { error: 'expected exactly one of "at" and "afterMs"' });

let cache: readonly Tool[] | undefined;

/** The tools at which a durable turn waits without a process: for an answer of its user, or for a time. They have no effect on data. */
export function listPauseTools(): readonly Tool[] {
  return (cache ??= [
    toTool(
      ASK_USER,
      'sessions',
      'Asks the user a question and waits for the answer. Use it only if you cannot continue without one.',
      AskUserInput,
    ),
    toTool(SLEEP_UNTIL, 'cron', 'Pauses this task and continues it at a time, at most 7 days from now.', SleepUntilInput),
  ]);
}

export function isPauseTool(name: string): boolean {
  return name === ASK_USER || name === SLEEP_UNTIL;
}

function toTool(name: string, group: Tool['group'], description: string, schema: z.ZodType): Tool {
  // A call that waits must not run beside others, so it does not count as reading.
  return { name, group, reads: false, idempotent: true, effect: 'read', spec: { name, description, parameters: inputSchema(schema) } };
}
