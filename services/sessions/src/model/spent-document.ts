import { z } from 'zod';
import { collection } from '@switchyard/store';
import { instant } from './schema-fields.ts';

/** Carries the event of model usage outside a durable turn through its outbox. */
export const SpentDocument = z.object({
  id: z.string(),
  forgetAt: instant,
});

export type SpentDocument = z.infer<typeof SpentDocument>;

export const spentCollection = collection({
  name: 'spent',
  schema: SpentDocument,
  key: 'id',
  expires: { field: 'forgetAt', afterMs: 0 },
});
