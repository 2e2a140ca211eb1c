import { leaseFields } from '@switchyard/service-kit';
import { z } from 'zod';
import { AnswerHead, TurnFailure } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { count, instant } from './schema-fields.ts';
import { Said } from './text-document.ts';

/** A stateless turn that was asked for with a key: all that is kept of it, for a day. */
export const KeptDocument = z.object({
  ...leaseFields,
  /** The caller's key, led by the caller. */
  key: z.string(),
  turnId: z.string(),
  client: z.string(),
  fingerprint: z.string(),
  head: AnswerHead,
  /** A tool was called: it must not be again. */
  acted: z.boolean(),
  /** The answer, as JSON. */
  answer: Said.optional(),
  /** All that was said on the way to it, where that is more. */
  text: Said.optional(),
  failure: json(TurnFailure).optional(),
  /** The number of the last frame, once it has ended. */
  lastFrame: count.optional(),
  endedAt: instant.optional(),
  /** Of a response: what was asked (`stateless/stored-request.ts`). Whoever claims it can run it. */
  asked: Said.optional(),
  /** The same, so that it can be looked for. */
  rerun: z.literal(true).optional(),
  /** How many characters each piece had in which a response was told. */
  pieces: Said.optional(),
  forgetAt: instant,
});

export type KeptDocument = z.infer<typeof KeptDocument>;

export const keptCollection = collection({
  name: 'kept',
  schema: KeptDocument,
  key: 'key',
  indexes: [
    { fields: ['turnId'] },
    { fields: ['state', 'leaseUntil'], across: true },
    { fields: ['rerun', 'state', 'leaseUntil'], across: true, sparse: true },
  ],
  expires: { field: 'forgetAt', afterMs: 0 },
});
