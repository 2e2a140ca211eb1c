import { collection } from '@switchyard/store';
import { z } from 'zod';
import { count, instant } from './schema-fields.ts';

/** What somebody said: the text itself, or the digest of a body when it is long. */
export const Said = z.object({ chars: count, text: z.string().optional(), body: z.string().optional() });

export type Said = z.infer<typeof Said>;

/** A long text of a turn: a question, an answer, what a tool said. Written before the document that names it, and never changed. */
export const BodyDocument = z.object({ id: z.string(), turnId: z.string(), text: z.string(), forgetAt: instant.optional() });

export type BodyDocument = z.infer<typeof BodyDocument>;

const BODY_BYTES = 8_388_608;

export const bodyCollection = collection({
  name: 'bodies',
  schema: BodyDocument,
  key: 'id',
  maxBytes: BODY_BYTES,
  indexes: [{ fields: ['turnId'] }],
  expires: { field: 'forgetAt', afterMs: 0 },
});
