import { collection } from '@switchyard/store';
import { z } from 'zod';
import { count, instant } from './schema-fields.ts';

/** Text stored inline, or by digest in a document of its own when it is long. */
export const StoredText = z.object({ chars: count, text: z.string().optional(), body: z.string().optional() });

export type StoredText = z.infer<typeof StoredText>;

/** Long text of a turn: a message, an answer or a tool result. Written before the document that refers to it, and never changed. */
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
