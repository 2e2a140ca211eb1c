import { leaseFields } from '@switchyard/service-kit';
import { z } from 'zod';
import { AnswerHead, TurnFailure } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { count, instant } from './schema-fields.ts';
import { StoredText } from './text-document.ts';

/** A stateless turn that was asked for with a key: all that is kept of it, for a day. */
export const KeyedTurnDocument = z.object({
  ...leaseFields,
  /** Idempotency key, prefixed with the client. */
  key: z.string(),
  turnId: z.string(),
  client: z.string(),
  fingerprint: z.string(),
  head: AnswerHead,
  /** A tool was called: it must not be again. */
  toolsCalled: z.boolean(),
  /** The answer, as JSON. */
  answer: StoredText.optional(),
  /** All that was said on the way to it, where that is more. */
  text: StoredText.optional(),
  failure: json(TurnFailure).optional(),
  /** Number of the last frame, once the turn has ended. */
  lastFrame: count.optional(),
  endedAt: instant.optional(),
  /** Of a response: what was asked (`stateless/stored-request.ts`). Whoever claims it can run it. */
  request: StoredText.optional(),
  /** The same, so that it can be looked for. */
  rerun: z.literal(true).optional(),
  /** How many characters each piece had in which a response was told. */
  pieces: StoredText.optional(),
  forgetAt: instant,
});

export type KeyedTurnDocument = z.infer<typeof KeyedTurnDocument>;

export const keyedTurnCollection = collection({
  name: 'kept',
  schema: KeyedTurnDocument,
  key: 'key',
  indexes: [
    { fields: ['turnId'] },
    { fields: ['state', 'leaseUntil'], across: true },
    { fields: ['rerun', 'state', 'leaseUntil'], across: true, sparse: true },
  ],
  expires: { field: 'forgetAt', afterMs: 0 },
});
