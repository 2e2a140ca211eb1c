import { z } from 'zod';
import type { OperationSpecs } from '../definition/define.ts';
import { JsonObject, Timestamp } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** Usage that sessions stores, for billing after the event log was lost. */
export const usageListOperations = {
  'usage.list': {
    summary: 'Returns ended turns and recorded usage of all tenants since an instant, as the events that announced them.',
    callers: ['observability'] as const,
    blobs: ['entries'],
    params: z.strictObject({ since: Timestamp, cursor: boundedString(MAX.line).optional() }),
    result: z.object({
      entries: z
        .array(
          z.object({
            tenant: boundedString(MAX.id),
            name: z.enum(['turn:ended', 'usage:recorded']),
            payload: JsonObject.describe('payload of the event'),
            at: Timestamp.describe('end of the turn or call'),
          }),
        )
        .max(MAX.few),
      cursor: boundedString(MAX.line).optional().describe('absent on the last page'),
    }),
    idempotent: true,
    reads: true,
  },
} satisfies OperationSpecs;
