import { z } from 'zod';
import { JsonObject } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { MessageImages, TurnMessage } from './conversation.ts';
import { StatelessResult, TurnFailure, TurnId, TurnState } from './turns.ts';

const text = boundedString(MAX.text);

/** How a turn of `/v1/responses` that can be asked for later is, to the client that made it. Anybody else's is NOT_FOUND. */
export const ResponseState = z.object({
  turnId: TurnId,
  state: TurnState,
  createdAt: z.int().nonnegative().describe('seconds, like all times here'),
  endedAt: z.int().nonnegative().optional(),
  echo: JsonObject,
  result: StatelessResult.optional(),
  said: boundedString(MAX.payload).optional().describe('complete text of an ended response, over all steps'),
  pieces: z
    .array(z.int().positive())
    .max(MAX.payload)
    .optional()
    .describe('characters of each streamed chunk, so that a replay has the same chunks'),
  failure: TurnFailure.optional(),
});
export type ResponseState = z.infer<typeof ResponseState>;

/** Conversation that a later response continues. */
const Talk = z.object({
  message: text,
  images: MessageImages.optional(),
  history: z.array(TurnMessage).max(MAX.messages).optional(),
  since: z.array(TurnMessage).max(MAX.messages).optional(),
  system: text.optional(),
});

const one = z.strictObject({ turnId: TurnId });
const large = ['echo', 'result', 'said', 'pieces', 'failure'];

/** Operations of the gateway for stored responses, which `turns.once` creates. */
export const responseOperations = {
  'responses.get': {
    summary: 'Returns the state and text of a response.',
    callers: ['gateway'] as const,
    params: one.extend({ talk: z.boolean().optional().describe('including its conversation') }),
    result: ResponseState.extend({ talk: Talk.optional() }),
    blobs: [...large, 'talk'],
    idempotent: true,
  },
  'responses.cancel': {
    summary: 'Cancels a running response; an ended one is not changed.',
    callers: ['gateway'] as const,
    params: one,
    result: ResponseState,
    blobs: large,
    idempotent: true,
  },
  'responses.delete': {
    summary: 'Deletes a response and cancels it first if it is running.',
    callers: ['gateway'] as const,
    params: one,
    result: z.object({ deleted: z.boolean() }),
    idempotent: true,
  },
};
