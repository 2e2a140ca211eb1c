import { z } from 'zod';
import { FinishReason, AgentId, IdempotencyKey, JsonObject, SessionKey, SessionParts, TokensUsed, Scopes } from '../common.ts';
import { ERROR_CODES } from '../errors.ts';
import { TURN_DEADLINE_MS } from '../define.ts';
import { MAX, upTo } from '../sizes.ts';
import { CallerToolCall, CallerTools, JsonFormat, TurnMessage } from './conversation.ts';
import { TURN_EVENTS } from './turn-events.ts';

/** What one agent turn answers, over every transport. */
export const TurnResult = z.object({ response: upTo(MAX.payload), tokensUsed: TokensUsed, finishReason: FinishReason });
export type TurnResult = z.infer<typeof TurnResult>;

/** What a turn that keeps nothing answers. */
export const StatelessResult = TurnResult.extend({
  toolCalls: z.array(CallerToolCall).max(MAX.many).optional().describe('with finishReason tool_calls: what the caller is to run'),
});
export type StatelessResult = z.infer<typeof StatelessResult>;

export const TurnId = z
  .string()
  .max(27)
  .regex(/^turn_[0-9A-Za-z]{22}$/);

export const TurnState = z.enum(['queued', 'running', 'done', 'failed', 'cancelled']);
export type TurnState = z.infer<typeof TurnState>;

const said = {
  n: z.int().nonnegative().describe('counts from 0 within the turn; a further run of it begins higher'),
  fence: z.int().nonnegative().optional().describe('of who says it; what comes with a lower one than was heard is dropped'),
};

/** The failure that ended a turn, as it crosses the bus. */
export const TurnFailure = z.object({
  code: z.enum(ERROR_CODES),
  message: upTo(MAX.text),
  details: z.record(z.string(), z.unknown()).optional(),
});
export type TurnFailure = z.infer<typeof TurnFailure>;

/**
 * In the details of a refusal, between services: for so long every call of the same method would be refused like it, in the same
 * tenant, for the same agent, unless it has an idempotency key.
 */
export const FullFor = z.object({
  ms: z.number().positive(),
  agentId: AgentId,
  standard: z.boolean().describe('it is the agent of calls that name none'),
  tries: z
    .object({ calls: z.int().positive(), everyMs: z.number().positive() })
    .optional()
    .describe('for how many calls there may be room after it, and in how long'),
});
export type FullFor = z.infer<typeof FullFor>;

/** What a turn says before it ends. */
const progress = [
  z.object({
    ...said,
    type: z.literal('accepted'),
    turnId: TurnId,
    sessionKey: SessionKey.optional(),
    agentId: AgentId,
    model: upTo(MAX.name),
  }),
  z.object({
    ...said,
    type: z.literal('resumed').describe('another runner goes on from what was kept: what was said beyond the text is said again'),
    text: upTo(MAX.payload),
  }),
  z.object({ ...said, type: z.literal('step'), step: z.int().positive() }),
  z.object({ ...said, type: z.literal('delta'), text: upTo(MAX.text) }),
  z.object({
    ...said,
    type: z.literal('tool'),
    step: z.int().positive(),
    callId: upTo(MAX.name),
    name: upTo(MAX.name),
    state: z.enum(['called', 'succeeded', 'failed', 'interrupted']),
  }),
  z.object({ ...said, type: z.literal('approval'), requestId: upTo(MAX.id), action: upTo(MAX.line) }),
  z.object({ ...said, type: z.literal('alive') }),
] as const;
export const TurnProgress = z.discriminatedUnion('type', progress);
export type TurnProgress = z.infer<typeof TurnProgress>;

/** The ordered frames of one turn. The edge renders them; nothing else travels on `turn.<id>`. */
export const TurnFrame = z.discriminatedUnion('type', [
  ...progress,
  z.object({
    ...said,
    type: z.literal('done'),
    result: StatelessResult,
    whole: z.literal(false).optional().describe('the answer is too long for a frame and left out: turns.resume has it'),
  }),
  z.object({ ...said, type: z.literal('error'), error: TurnFailure }),
]);
export type TurnFrame = z.infer<typeof TurnFrame>;

/** The channel of what webhooks bring: what is said there strangers may have written. */
export const WEBHOOK_CHANNEL = 'webhook';

/** How a session is named by a route: its formatted key, or its parts. */
export const SessionAddress = z.union([SessionKey, SessionParts]);

export const StartTurn = z.strictObject({
  turnId: TurnId.describe('minted by the route, so that it can listen before the turn begins'),
  message: z.string().min(1).max(MAX.text),
  agentId: AgentId.optional(),
  session: SessionAddress.optional(),
  scopes: Scopes.optional(),
  idempotencyKey: IdempotencyKey.optional(),
  model: z.string().min(1).max(MAX.name).optional().describe('provider/model or bare model id, in place of that of the agent'),
  timeoutMs: z.int().positive().optional().describe('how long it may take from its start on, where that is less than any turn may'),
});

export const TurnAccepted = z.object({
  turnId: TurnId.describe('another one when the idempotency key named an earlier turn'),
  sessionKey: SessionKey,
  state: TurnState,
});

/** A turn that keeps nothing: `/v1/chat/completions`. Leaving it cancels it. */
export const StatelessTurn = z.strictObject({
  turnId: TurnId,
  model: z.string().min(1).max(MAX.name).describe('an agent id, provider/model or bare model id'),
  message: z.string().min(1).max(MAX.text).describe('the last user message'),
  history: z.array(TurnMessage).max(MAX.messages).optional().describe('what was said before the message, oldest first'),
  since: z.array(TurnMessage).max(MAX.messages).optional().describe('what was said after it, from which the answer goes on'),
  system: upTo(MAX.text).optional(),
  tools: CallerTools.optional().describe('without them the agent has its own'),
  stop: z.array(z.string().min(1).max(MAX.name)).max(MAX.few).optional().describe('texts at which the answer ends, themselves left out'),
  format: JsonFormat.optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.int().positive().optional(),
});
export type StatelessTurn = z.infer<typeof StatelessTurn>;

/** What an answer on `/v1` is known by: the same for everybody who gets it. */
export const AnswerHead = z.object({ id: upTo(MAX.id), created: z.int().nonnegative().describe('seconds') });
export type AnswerHead = z.infer<typeof AnswerHead>;

/** Says of a turn that it is a response: it can be asked for by its id, cancelled, deleted and gone on from for thirty days. */
export const KeptResponse = z.strictObject({
  echo: JsonObject.describe('what its resource repeats of its request'),
  system: upTo(MAX.text).optional().describe('of the instructions those that are part of the conversation'),
});
export type KeptResponse = z.infer<typeof KeptResponse>;

/** A turn that is made once for its key, however often it is asked for. */
export const KeyedTurn = StatelessTurn.extend({
  idempotencyKey: IdempotencyKey,
  whole: z.boolean().optional().describe('nobody reads along: of the frames only those of tools are sent, and the result'),
  fingerprint: upTo(MAX.id).describe('tells what is asked from anything else'),
  head: AnswerHead,
  response: KeptResponse.optional(),
});
export type KeyedTurn = z.infer<typeof KeyedTurn>;

/** The calls for turns that only services use. */
export const turnOperations = {
  'turns.start': {
    summary: 'Accepts a durable turn; its frames go to turn.<turnId>.',
    callers: ['gateway'] as const,
    blobs: ['message'],
    params: StartTurn,
    result: TurnAccepted,
    emits: TURN_EVENTS,
    idempotent: true,
  },
  'turns.run': {
    summary: 'Runs a turn that leaves nothing behind; its frames are the answer.',
    callers: ['gateway'] as const,
    blobs: ['message', 'history', 'since', 'system', 'tools', 'stop', 'format', 'response', 'toolCalls'],
    params: StatelessTurn,
    chunk: TurnFrame,
    result: StatelessResult,
    emits: TURN_EVENTS,
    deadlineMs: TURN_DEADLINE_MS,
  },
  'turns.complete': {
    summary: 'The same where nobody reads along. A failure after a tool ran says that it is not to be asked again.',
    callers: ['gateway'] as const,
    blobs: ['message', 'history', 'since', 'system', 'tools', 'stop', 'format', 'response', 'toolCalls'],
    params: StatelessTurn,
    result: StatelessResult,
    emits: TURN_EVENTS,
    deadlineMs: TURN_DEADLINE_MS,
  },
  'turns.once': {
    summary: 'Runs a stateless turn once for its key, and keeps its answer for a day; its frames go to turn.<turnId>.',
    callers: ['gateway'] as const,
    params: KeyedTurn,
    blobs: ['message', 'history', 'since', 'system', 'tools', 'stop', 'format', 'response'],
    result: z.object({
      turnId: TurnId.describe('another one when the key named an earlier turn'),
      head: AnswerHead.describe('that of the earlier turn then'),
    }),
    emits: TURN_EVENTS,
    idempotent: true,
  },
  'turns.resume': {
    summary: 'Says how far a turn is, to the client that started it and nobody else.',
    callers: ['gateway'] as const,
    blobs: ['result', 'failure', 'soFar'],
    params: z.strictObject({ turnId: TurnId }),
    result: z.object({
      turnId: TurnId,
      sessionKey: SessionKey,
      state: TurnState,
      /** The turn that has heard this one and works on the answer of both; until its end nothing is said of this one. */
      heardBy: TurnId.optional(),
      /** The number of the last frame, once the turn has ended. */
      lastFrame: z.int().nonnegative().optional(),
      result: StatelessResult.optional(),
      failure: TurnFailure.optional(),
      /** What a turn has said, as it was kept last, and the number of the frame that comes after; of one that has ended, all of it. */
      soFar: z.object({ text: upTo(MAX.payload), frame: z.int().nonnegative(), fence: z.int().nonnegative() }).optional(),
    }),
    idempotent: true,
  },
};
