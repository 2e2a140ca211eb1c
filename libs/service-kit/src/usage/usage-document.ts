import { collection, json } from '@switchyard/store';
import { z } from 'zod';

const instant = z.int().nonnegative();

/** Usage of a provider outside a durable turn. It carries its event through the outbox, and is kept for billing after the event log was lost. */
export const UsageDocument = z.object({
  id: z.string(),
  /** Time of the usage and payload of its event; absent on documents of earlier versions. */
  at: instant.optional(),
  payload: json(z.record(z.string(), z.unknown())).optional(),
  forgetAt: instant,
});
export type UsageDocument = z.infer<typeof UsageDocument>;

export const usageCollection = collection({
  name: 'spent',
  schema: UsageDocument,
  key: 'id',
  indexes: [{ fields: ['at'], across: true, sparse: true }],
  expires: { field: 'forgetAt', afterMs: 0 },
});
