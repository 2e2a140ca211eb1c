import { z } from 'zod';
import { Count } from '../common.ts';
import { defineOperations } from '../define.ts';
import { MAX, upTo } from '../sizes.ts';

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
  waitMs: z.int().min(0).max(60_000).optional().describe('how long it takes, after it was counted'),
  fails: z.boolean().optional().describe('it fails, after it was counted'),
  chars: z.int().min(0).max(2_000_000).optional().describe('how long the text is that it answers'),
});

const Executed = z.object({
  name: Name,
  executions: Count.describe('of this name so far, this one with them'),
  key: upTo(MAX.id).optional().describe('of the call: the same whenever it is repeated'),
  text: upTo(MAX.payload).optional(),
});

/**
 * Tools whose executions can be counted, for tests of what happens to a turn when its process dies. They are there only where
 * `SWITCHYARD_DEV_TOOLS` says `on`, and only for a turn whose model is a development model. No client reaches them but through a turn.
 */
export const devToolOperations = defineOperations({
  'dev.act': {
    summary: 'Counts that it was executed; twice is not as once.',
    callers: CALLERS,
    params: Acting,
    result: Executed,
    blobs: ['text'],
    deadlineMs: DEADLINE_MS,
  },
  'dev.look': {
    summary: 'Counts that it was executed; for its contract, twice is as once.',
    callers: CALLERS,
    params: Acting,
    result: Executed,
    blobs: ['text'],
    deadlineMs: DEADLINE_MS,
    idempotent: true,
    reads: true,
  },
  'dev.count': {
    summary: 'How often the tools of this name were executed, and under which keys.',
    callers: CALLERS,
    params: z.strictObject({ name: Name }),
    result: z.object({
      name: Name,
      executions: Count,
      keys: z
        .array(z.object({ key: upTo(MAX.id), executions: Count }))
        .max(MAX.all)
        .describe('a key counted twice is one call executed twice'),
    }),
    blobs: ['keys'],
    idempotent: true,
  },
});
