import { collection, json } from '@switchyard/store';
import { z } from 'zod';

const instant = z.int().nonnegative();
/** Bounds a document and a page of documents. */
export const MAX_PAYLOADS = 20;

const payload = z.record(z.string(), z.unknown());

/**
 * Usage of providers outside of durable turns that ended at about the same time. Its events leave through the outbox, and it is kept for
 * billing after the event log was lost.
 */
export const UsageDocument = z.object({
  id: z.string(),
  /** Time of the write; absent on documents of earlier versions. */
  at: instant.optional(),
  /** Payloads of the events. */
  payloads: json(z.array(payload)).optional(),
  /** Payload of the only event, on documents of earlier versions. */
  payload: json(payload).optional(),
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
