import { collection, json } from '@switchyard/store';
import { z } from 'zod';

const instant = z.int().nonnegative();
/** Bounds a document and its event, which the broker accepts up to a megabyte. */
export const MAX_RECORDS = 50;

const record = z.record(z.string(), z.unknown());

/**
 * Usage of providers outside of durable turns that ended at about the same time. Its event leaves through the outbox, and it is kept for
 * billing after the event log was lost.
 */
export const UsageDocument = z.object({
  id: z.string(),
  /** Time of the write; absent on documents of earlier versions. */
  at: instant.optional(),
  /** One record for each call of a provider. */
  records: json(z.array(record)).optional(),
  /** The records, on documents of earlier versions. */
  payloads: json(z.array(record)).optional(),
  /** The only record, on documents of earlier versions. */
  payload: json(record).optional(),
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
