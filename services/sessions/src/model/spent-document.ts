import { z } from 'zod';
import { collection, json } from '@switchyard/store';
import { instant } from './schema-fields.ts';

/** Model usage outside a durable turn. It carries its event through the outbox, and is kept for billing after the event log was lost. */
export const SpentDocument = z.object({
  id: z.string(),
  /** Time of the usage and payload of `usage:recorded`; absent on documents of earlier versions. */
  at: instant.optional(),
  payload: json(z.record(z.string(), z.unknown())).optional(),
  forgetAt: instant,
});

export type SpentDocument = z.infer<typeof SpentDocument>;

export const spentCollection = collection({
  name: 'spent',
  schema: SpentDocument,
  key: 'id',
  indexes: [{ fields: ['at'], across: true, sparse: true }],
  expires: { field: 'forgetAt', afterMs: 0 },
});
