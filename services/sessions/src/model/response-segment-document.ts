import { z } from 'zod';
import { collection } from '@switchyard/store';
import { count, instant } from './schema-fields.ts';
import { StoredText } from './text-document.ts';

/** Maximum ids of earlier responses in one document. A reader of a chain loads so many segments with one query. */
export const MAX_ANCESTORS = 16;

/** The responses before a response. */
export const ResponseChain = z.object({
  /** The nearest earlier responses, nearest first. The last one refers to those before it. */
  ancestors: z.array(z.string()).max(MAX_ANCESTORS),
  /** Number of all earlier responses. */
  responses: count,
  /** Characters of all earlier segments. */
  chars: count,
});

export type ResponseChain = z.infer<typeof ResponseChain>;

/**
 * What one response adds to a conversation: its messages and its answer. It is written when a later response first continues from it, and
 * it remains until no response continues from it, even if the response itself was deleted or has expired.
 */
export const ResponseSegmentDocument = z.object({
  turnId: z.string(),
  previous: z.string().optional(),
  chain: ResponseChain.optional(),
  /** The requested model. Provider fields are valid for this model only. */
  model: z.string(),
  client: z.string(),
  /** A `SegmentContent` as JSON. A long one is a text of `textId`, so that a sweep and a count do not load it. */
  content: StoredText,
  textId: z.string(),
  /** Incremented by each response that continues from it, so that a concurrent removal fails. */
  links: count,
  /** Time at which a sweep checks whether a response still continues from it. */
  checkAt: instant,
});

export type ResponseSegmentDocument = z.infer<typeof ResponseSegmentDocument>;

export const responseSegmentCollection = collection({
  name: 'segments',
  schema: ResponseSegmentDocument,
  key: 'turnId',
  indexes: [
    { fields: ['previous'], sparse: true },
    { fields: ['checkAt'], across: true },
  ],
});
