import { z } from 'zod';
import type { OperationSpecs } from '../definition/define.ts';
import { Count } from '../values/common.ts';

/** The queues of a tenant in numbers. */
export const queueStatusOperations = {
  'queue.status': {
    summary: 'Counts the turns of the tenant that wait to be run.',
    callers: ['observability'] as const,
    params: z.strictObject({}),
    result: z.object({ waiting: Count }),
    idempotent: true,
    reads: true,
  },
} satisfies OperationSpecs;
