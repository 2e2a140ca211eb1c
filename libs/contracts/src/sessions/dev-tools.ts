import { z } from 'zod';
import { Count } from '../values/common.ts';
import { defineOperations } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const CALLERS = ['sessions'] as const;
/** Short, so that a tool that is too slow can be seen to be. */
const DEADLINE_MS = 5_000;

const Name = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9._-]{1,64}$/)
  .describe('executions of one name are counted together');

const Acting = z.strictObject({
  name: Name,
  waitMs: z.int().min(0).max(60_000).optional().describe('duration after it was counted'),
  fails: z.boolean().optional().describe('fails after it was counted'),
  chars: z.int().min(0).max(2_000_000).optional().describe('length of the returned text'),
});

const Executed = z.object({
  name: Name,
  executions: Count.describe('executions of this name, including this one'),
  key: boundedString(MAX.id).optional().describe('key of the call; equal for repetitions'),
  text: boundedString(MAX.payload).optional(),
});

/**
 * Tools whose executions can be counted, for tests of what happens to a turn when its process dies. They are there only where
 * `SWITCHYARD_DEV_TOOLS` says `on`, and only for a turn whose model is a development model. No client reaches them but through a turn.
 */
export const devToolOperations = defineOperations({
  'dev.act': {
    summary: 'Counts its execution; not idempotent.',
    callers: CALLERS,
    effect: 'mutate',
    params: Acting,
    result: Executed,
    blobs: ['text'],
    deadlineMs: DEADLINE_MS,
  },
  'dev.destroy': {
    summary: 'Counts its execution; declared destructive.',
    callers: CALLERS,
    effect: 'destructive',
    params: Acting,
    result: Executed,
    blobs: ['text'],
    deadlineMs: DEADLINE_MS,
  },
  'dev.look': {
    summary: 'Counts its execution; declared idempotent.',
    callers: CALLERS,
    params: Acting,
    result: Executed,
    blobs: ['text'],
    deadlineMs: DEADLINE_MS,
    idempotent: true,
    reads: true,
  },
  'dev.count': {
    summary: 'Returns execution counts and keys of this name.',
    callers: CALLERS,
    effect: 'read',
    params: z.strictObject({ name: Name }),
    result: z.object({
      name: Name,
      executions: Count,
      keys: z
        .array(z.object({ key: boundedString(MAX.id), executions: Count }))
        .max(MAX.all)
        .describe('a key counted twice is one call executed twice'),
    }),
    blobs: ['keys'],
    idempotent: true,
  },
});
