import { z } from 'zod';
import { AnswerHead, TurnFailure, TurnState } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { newWork, workFields, workIndex } from '@switchyard/work';
import { count, instant } from './schema-fields.ts';
import { ResponseChain } from './response-segment-document.ts';
import { StoredText } from './text-document.ts';

/** A stateless turn with an idempotency key. Kept for a day. It never waits for anything outside its process, so that it is not parked. */
export const KeyedTurnDocument = z.object({
  ...workFields,
  state: TurnState.default('queued'),
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
  /** Length of each piece in which the text of a response was streamed. */
  pieces: StoredText.optional(),
  /** The response that this one continues, as a field that can be indexed. */
  previous: z.string().optional(),
  /** The chain of earlier responses. Set together with `previous`. */
  chain: ResponseChain.optional(),
  forgetAt: instant,
});

export type KeyedTurnDocument = z.infer<typeof KeyedTurnDocument>;

/** Returns the work fields of a new turn. */
export function newKeyedTurn(): ReturnType<typeof newWork> & Pick<KeyedTurnDocument, 'state'> {
  return { ...newWork(), state: 'queued' };
}

export const keyedTurnCollection = collection({
  name: 'kept',
  schema: KeyedTurnDocument,
  key: 'key',
  indexes: [{ fields: ['turnId'] }, { fields: ['previous'], sparse: true }, workIndex],
  expires: { field: 'forgetAt', afterMs: 0 },
});
