import { z } from 'zod';
import type { OperationSpecs } from '../definition/define.ts';
import { JsonObject, Timestamp } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** Returns the operation with which a service lists its stored usage as these events, for billing after the event log was lost. */
export function createUsageListSpec<const E extends readonly [string, ...string[]]>(events: E, usage: string) {
  return {
    summary: `Returns ${usage} of all tenants since an instant, as the events that announced them.`,
    callers: ['observability'] as const,
    blobs: ['entries'],
    params: z.strictObject({ since: Timestamp, cursor: boundedString(MAX.line).optional() }),
    result: z.object({
      entries: z
        .array(
          z.object({
            tenant: boundedString(MAX.id),
            name: z.enum(events),
            payload: JsonObject.describe('payload of the event'),
            at: Timestamp.describe('end of the turn or call'),
          }),
        )
        .max(MAX.few),
      cursor: boundedString(MAX.line).optional().describe('absent on the last page'),
    }),
    idempotent: true,
    reads: true as const,
  };
}

export const usageListOperations = {
  'usage.list': createUsageListSpec(['turn:ended', 'usage:recorded'], 'ended turns and recorded usage'),
} satisfies OperationSpecs;
