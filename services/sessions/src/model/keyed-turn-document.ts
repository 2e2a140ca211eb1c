import { leaseFields } from '@switchyard/service-kit';
import { z } from 'zod';
import { AnswerHead, TurnFailure } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { count, instant } from './schema-fields.ts';
import { ResponseChain } from './response-segment-document.ts';
import { StoredText } from './text-document.ts';

/** A stateless turn with an idempotency key. Kept for a day. */
export const KeyedTurnDocument = z.object({
  ...leaseFields,
  /** Idempotency key, prefixed with the client. */
  key: z.string(),
  turnId: z.string(),
  client: z.string(),
  fingerprint: z.string(),
  head: AnswerHead,
  /** A tool was called, so the turn must not run again. */
  toolsCalled: z.boolean(),
  /** The answer as JSON. */
  answer: StoredText.optional(),
  /** All output before the answer, if there was any. */
  text: StoredText.optional(),
  failure: json(TurnFailure).optional(),
  /** Number of the last frame, once the turn has ended. */
  lastFrame: count.optional(),
  endedAt: instant.optional(),
  /** Request of a response (`response-chain/stored-request.ts`). Every replica that claims the turn can run it. */
  request: StoredText.optional(),
  /** Set together with `request`, as a field that can be indexed. */
  rerun: z.literal(true).optional(),
  /** Length of each piece in which the text of a response was streamed. */
  pieces: StoredText.optional(),
  /** The response that this one continues, as a field that can be indexed. */
  previous: z.string().optional(),
  /** The chain of earlier responses. Set together with `previous`. */
  chain: ResponseChain.optional(),
  forgetAt: instant,
});

export type KeyedTurnDocument = z.infer<typeof KeyedTurnDocument>;

export const keyedTurnCollection = collection({
  name: 'kept',
  schema: KeyedTurnDocument,
  key: 'key',
  indexes: [
    { fields: ['turnId'] },
    { fields: ['previous'], sparse: true },
    { fields: ['state', 'leaseUntil'], across: true },
    { fields: ['rerun', 'state', 'leaseUntil'], across: true, sparse: true },
  ],
  expires: { field: 'forgetAt', afterMs: 0 },
});
