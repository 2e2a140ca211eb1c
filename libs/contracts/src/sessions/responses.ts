import { z } from 'zod';
import { JsonObject } from '../common.ts';
import { MAX, upTo } from '../sizes.ts';
import { TurnMessage } from './conversation.ts';
import { StatelessResult, TurnFailure, TurnId, TurnState } from './turns.ts';

const text = upTo(MAX.text);

/** How a turn of `/v1/responses` that can be asked for later is, to the client that made it. Anybody else's is NOT_FOUND. */
export const ResponseState = z.object({
  turnId: TurnId,
  state: TurnState,
  createdAt: z.int().nonnegative().describe('seconds, as all times here'),
  endedAt: z.int().nonnegative().optional(),
  echo: JsonObject,
  result: StatelessResult.optional(),
  said: upTo(MAX.payload).optional().describe('all text of one that has ended, of its every step'),
  pieces: z
    .array(z.int().positive())
    .max(MAX.payload)
    .optional()
    .describe('how many characters each piece had in which it was told, so that it is told the same way again'),
  failure: TurnFailure.optional(),
});
export type ResponseState = z.infer<typeof ResponseState>;

/** What a later response goes on from. */
const Talk = z.object({
  message: text,
  history: z.array(TurnMessage).max(MAX.messages).optional(),
  since: z.array(TurnMessage).max(MAX.messages).optional(),
  system: text.optional(),
});

const one = z.strictObject({ turnId: TurnId });
const large = ['echo', 'result', 'said', 'pieces', 'failure'];

/** What the edge needs for responses that are kept; `turns.once` makes them. */
export const responseOperations = {
  'responses.get': {
    summary: 'How a response is, and what it said.',
    callers: ['gateway'] as const,
    params: one.extend({ talk: z.boolean().optional().describe('with the conversation that it ends') }),
    result: ResponseState.extend({ talk: Talk.optional() }),
    blobs: [...large, 'talk'],
    idempotent: true,
  },
  'responses.cancel': {
    summary: 'Ends a response that has not ended; of one that has, it changes nothing.',
    callers: ['gateway'] as const,
    params: one,
    result: ResponseState,
    blobs: large,
    idempotent: true,
  },
  'responses.delete': {
    summary: 'Forgets a response, and ends it first if it runs.',
    callers: ['gateway'] as const,
    params: one,
    result: z.object({ deleted: z.boolean() }),
    idempotent: true,
  },
};
