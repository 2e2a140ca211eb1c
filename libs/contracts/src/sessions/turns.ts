import { z } from 'zod';
import {
  Count,
  FinishReason,
  AgentId,
  IdempotencyKey,
  JsonObject,
  SessionKey,
  SessionParts,
  TokensUsed,
  Scopes,
} from '../values/common.ts';
import { ERROR_CODES } from '../definition/errors.ts';
import { TURN_DEADLINE_MS } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { CallerToolCall, CallerTools, JsonFormat, MessageImages, ProviderFields, TurnMessage } from './conversation.ts';
import { TURN_EVENTS } from './turn-events.ts';

/** Result of an agent turn, equal on all transports. */
export const TurnResult = z.object({ response: boundedString(MAX.payload), tokensUsed: TokensUsed, finishReason: FinishReason });
export type TurnResult = z.infer<typeof TurnResult>;

/** Result of a stateless turn. */
export const StatelessResult = TurnResult.extend({
  toolCalls: z.array(CallerToolCall).max(MAX.many).optional().describe('with finishReason tool_calls: calls for the caller to execute'),
  providerFields: ProviderFields.optional(),
  filtered: z.literal(true).optional().describe('the provider filtered the answer'),
});
export type StatelessResult = z.infer<typeof StatelessResult>;

export const TurnId = z
  .string()
  .max(27)
  .regex(/^turn_[0-9A-Za-z]{22}$/);

export const TurnState = z.enum(['queued', 'running', 'done', 'failed', 'cancelled']);
export type TurnState = z.infer<typeof TurnState>;

const said = {
  n: z.int().nonnegative().describe('counts from 0 within the turn; a later attempt starts higher'),
  fence: z.int().nonnegative().optional().describe('fence of the publisher; frames with a lower fence are dropped'),
};

/** The failure that ended a turn, as it crosses the bus. */
export const TurnFailure = z.object({
  code: z.enum(ERROR_CODES),
  message: boundedString(MAX.text),
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
  standard: z.boolean().describe('the agent is the default of calls without one'),
  tries: z
    .object({ calls: z.int().positive(), everyMs: z.number().positive() })
    .optional()
    .describe('number of calls that may fit afterwards, and the delay'),
});
export type FullFor = z.infer<typeof FullFor>;

/** Frames of a turn before its end. */
const progress = [
  z.object({
    ...said,
    type: z.literal('accepted'),
    turnId: TurnId,
    sessionKey: SessionKey.optional(),
    agentId: AgentId,
    model: boundedString(MAX.name),
  }),
  z.object({
    ...said,
    type: z.literal('resumed').describe('another runner continues from the stored text; later text is repeated'),
    text: boundedString(MAX.payload),
  }),
  z.object({ ...said, type: z.literal('step'), step: z.int().positive() }),
  z.object({ ...said, type: z.literal('delta'), text: boundedString(MAX.text) }),
  z.object({
    ...said,
    type: z.literal('tool'),
    step: z.int().positive(),
    callId: boundedString(MAX.name),
    name: boundedString(MAX.name),
    state: z.enum(['called', 'succeeded', 'failed', 'interrupted']),
  }),
  z.object({
    ...said,
    type: z.literal('approval').describe('the turn waits for a person'),
    requestId: boundedString(MAX.id),
    action: boundedString(MAX.line),
    question: boundedString(MAX.line).optional().describe('of ask_user: the next message of the session answers it'),
    options: z.array(boundedString(MAX.name)).max(MAX.words).optional().describe('suggested answers'),
  }),
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
    whole: z.literal(false).optional().describe('the answer exceeds a frame; read it with turns.resume'),
  }),
  z.object({ ...said, type: z.literal('error'), error: TurnFailure }),
]);
export type TurnFrame = z.infer<typeof TurnFrame>;

/** Channel of webhook messages, whose content is untrusted. */
export const WEBHOOK_CHANNEL = 'webhook';

/** How a session is named by a route: its formatted key, or its parts. */
export const SessionAddress = z.union([SessionKey, SessionParts]);

export const StartTurn = z.strictObject({
  turnId: TurnId.describe('created by the route, so that it can subscribe before the turn starts'),
  message: z.string().min(1).max(MAX.text),
  agentId: AgentId.optional(),
  session: SessionAddress.optional(),
  scopes: Scopes.optional(),
  idempotencyKey: IdempotencyKey.optional(),
  model: z.string().min(1).max(MAX.name).optional().describe('provider/model or model id that overrides the agent’s'),
  timeoutMs: z.int().positive().optional().describe('maximum duration from its start, below the general limit'),
});

export const TurnAccepted = z.object({
  turnId: TurnId.describe('id of the earlier turn if the idempotency key matches one'),
  sessionKey: SessionKey,
  state: TurnState,
});

/** A turn that keeps nothing: `/v1/chat/completions`. Leaving it cancels it. */
export const StatelessTurn = z.strictObject({
  turnId: TurnId,
  model: z.string().min(1).max(MAX.name).describe('agent id, provider/model or model id'),
  message: z.string().min(1).max(MAX.text).describe('the last user message'),
  images: MessageImages.optional(),
  history: z.array(TurnMessage).max(MAX.messages).optional().describe('messages before the user message, oldest first'),
  since: z.array(TurnMessage).max(MAX.messages).optional().describe('messages after it, which the answer continues'),
  system: boundedString(MAX.text).optional(),
  tools: CallerTools.optional().describe('default: the agent’s tools'),
  stop: z.array(z.string().min(1).max(MAX.name)).max(MAX.few).optional().describe('stop sequences, excluded from the answer'),
  format: JsonFormat.optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.int().positive().optional(),
});
export type StatelessTurn = z.infer<typeof StatelessTurn>;

/** Identity of an answer on `/v1`, equal for all its readers. */
export const AnswerHead = z.object({ id: boundedString(MAX.id), created: z.int().nonnegative().describe('seconds') });
export type AnswerHead = z.infer<typeof AnswerHead>;

/** Says of a turn that it is a response: it can be asked for by its id, cancelled, deleted and gone on from for thirty days. */
export const KeptResponse = z.strictObject({
  echo: JsonObject.describe('request fields repeated in the resource'),
  system: boundedString(MAX.text).optional().describe('instructions that belong to the conversation; with previous only the added ones'),
  instructions: boundedString(MAX.text).optional().describe('with previous: instructions of this response only'),
  previous: z
    .strictObject({
      turnId: TurnId,
      messages: z.int().nonnegative().max(MAX.messages).describe('messages at the end of the conversation that this response adds'),
    })
    .optional()
    .describe('the response that this one continues; its conversation is not stored again'),
});
export type KeptResponse = z.infer<typeof KeptResponse>;

/** A turn that is made once for its key, however often it is asked for. */
export const KeyedTurn = StatelessTurn.extend({
  idempotencyKey: IdempotencyKey,
  whole: z.boolean().optional().describe('no client reads the stream: only tool frames and the result are sent'),
  fingerprint: boundedString(MAX.id).describe('fingerprint of the request'),
  head: AnswerHead,
  response: KeptResponse.optional(),
});
export type KeyedTurn = z.infer<typeof KeyedTurn>;

/** The calls for turns that only services use. */
export const turnOperations = {
  'turns.start': {
    summary: 'Accepts a durable turn; its frames are published to turn.<turnId>.',
    callers: ['gateway'] as const,
    blobs: ['message'],
    params: StartTurn,
    result: TurnAccepted,
    emits: TURN_EVENTS,
    idempotent: true,
  },
  'turns.run': {
    summary: 'Runs a stateless turn and streams its frames.',
    callers: ['gateway'] as const,
    blobs: ['message', 'images', 'history', 'since', 'system', 'tools', 'stop', 'format', 'response', 'toolCalls', 'providerFields'],
    params: StatelessTurn,
    chunk: TurnFrame,
    result: StatelessResult,
    emits: TURN_EVENTS,
    deadlineMs: TURN_DEADLINE_MS,
  },
  'turns.complete': {
    summary: 'Runs a stateless turn and returns its result. A failure after a tool call is not retryable.',
    callers: ['gateway'] as const,
    blobs: ['message', 'images', 'history', 'since', 'system', 'tools', 'stop', 'format', 'response', 'toolCalls', 'providerFields'],
    params: StatelessTurn,
    result: StatelessResult,
    emits: TURN_EVENTS,
    deadlineMs: TURN_DEADLINE_MS,
  },
  'turns.once': {
    summary: 'Runs a stateless turn once per key and stores its answer for a day; its frames are published to turn.<turnId>.',
    callers: ['gateway'] as const,
    params: KeyedTurn,
    blobs: ['message', 'images', 'history', 'since', 'system', 'tools', 'stop', 'format', 'response'],
    result: z.object({
      turnId: TurnId.describe('id of the earlier turn if the key matches one'),
      head: AnswerHead.describe('that of the earlier turn'),
    }),
    emits: TURN_EVENTS,
    idempotent: true,
  },
  'queue.status': {
    summary: 'Counts the turns of the tenant that wait to be run.',
    callers: ['observability'] as const,
    params: z.strictObject({}),
    result: z.object({ waiting: Count }),
    idempotent: true,
    reads: true as const,
  },
  'turns.resume': {
    summary: 'Returns the progress of a turn to the client that started it.',
    callers: ['gateway'] as const,
    blobs: ['result', 'failure', 'soFar'],
    params: z.strictObject({ turnId: TurnId }),
    result: z.object({
      turnId: TurnId,
      sessionKey: SessionKey,
      state: TurnState,
      /** The turn that has heard this one and works on the answer of both; until its end nothing is said of this one. */
      heardBy: TurnId.optional(),
      /** Whether the turn waits for a person or a time; no frame is sent meanwhile. */
      waitsForApproval: z.boolean().optional(),
      /** The number of the last frame, once the turn has ended. */
      lastFrame: z.int().nonnegative().optional(),
      result: StatelessResult.optional(),
      failure: TurnFailure.optional(),
      /** Stored text of the turn so far and the number of the next frame; the whole text of an ended turn. */
      soFar: z.object({ text: boundedString(MAX.payload), frame: z.int().nonnegative(), fence: z.int().nonnegative() }).optional(),
    }),
    idempotent: true,
  },
};
