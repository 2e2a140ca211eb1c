import { z } from 'zod';
import { ORDERING_SERVICES, SERVICES, type OperationSpecs } from '../definition/define.ts';
import { TOOL_PROFILE_NAMES } from '../definition/tool-groups.ts';
import { Count, IdempotencyKey, SessionKey, Timestamp } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { TURN_EVENTS } from './turn-events.ts';
import { TurnUsage } from './turn-usage.ts';
import { StartTurn, TurnAccepted, TurnFailure, TurnId, TurnResult, TurnState } from './turns.ts';

/** Longest wait of `turns.ends`. */
const MAX_WAIT_MS = 20_000;

/** Why a service ordered a turn. */
export const TurnKind = z.enum(['cron', 'heartbeat', 'subagent', 'graph', 'channel', 'extraction']);
export type TurnKind = z.infer<typeof TurnKind>;

/** The service that ordered a turn, and its own name for the order. */
export const TurnOrigin = z.object({
  service: z.enum(SERVICES),
  ref: boundedString(MAX.name).describe('names the order within the service, for example a run id'),
});
export type TurnOrigin = z.infer<typeof TurnOrigin>;

/** Limits of one turn below those of its agent. */
export const TurnLimits = z.strictObject({
  steps: z.int().positive().optional(),
  tokens: z.int().positive().optional(),
  costUsd: z.number().positive().optional(),
});
export type TurnLimits = z.infer<typeof TurnLimits>;

/** Which earlier turns of the session the model reads. */
export const TurnHistory = z.strictObject({
  mode: z.enum(['fresh', 'rolling', 'accumulate']).describe('fresh: none; rolling: the last turns; accumulate: what fits, as in a chat'),
  turns: z.int().positive().max(MAX.few).optional().describe('with rolling; default 3'),
});
export type TurnHistory = z.infer<typeof TurnHistory>;

/** Material for one turn. The model reads it before the message and is told not to follow instructions in it. */
export const TurnContext = z.strictObject({
  title: z.string().min(1).max(MAX.name),
  text: boundedString(MAX.text),
  untrusted: z.boolean().optional().describe('default true: parts may come from outside'),
});
export type TurnContext = z.infer<typeof TurnContext>;

const MAX_CONTEXT_CHARS = MAX.text / 2;

function countChars(items: readonly TurnContext[]): number {
  return items.reduce((sum, { title, text }) => sum + title.length + text.length, 0);
}

const ToolNames = z.array(boundedString(MAX.name)).max(MAX.few);

/** Tools of one turn below those of its agent. */
export const TurnTools = z.strictObject({
  profile: z.enum(TOOL_PROFILE_NAMES).optional().describe('default: full'),
  allow: ToolNames.optional().describe('tools beside those of the profile: names, methods and group:<name>'),
  deny: ToolNames.optional(),
  mcpServers: z.array(boundedString(MAX.id)).max(MAX.few).optional().describe('servers whose tools may be used; default: all'),
  within: z.array(ToolNames).max(MAX.few).optional().describe('lists of which each must contain the tool, such as those of used skills'),
});
export type TurnTools = z.infer<typeof TurnTools>;

export const OrderTurn = StartTurn.omit({ turnId: true }).extend({
  idempotencyKey: IdempotencyKey.describe('the same key orders the same turn, for example <job>@<instant>'),
  kind: TurnKind,
  origin: TurnOrigin,
  limits: TurnLimits.optional(),
  history: TurnHistory.optional().describe('default: accumulate'),
  context: z
    .array(TurnContext)
    .min(1)
    .max(MAX.words)
    .refine((items) => countChars(items) <= MAX_CONTEXT_CHARS, { error: `all texts together have at most ${MAX_CONTEXT_CHARS} characters` })
    .optional()
    .describe('for example the results of earlier steps'),
  tools: TurnTools.optional().describe('narrows the tools of the agent, and never adds one'),
});

/** Tool calls of one turn. */
export const TurnToolCounts = z.object({
  calls: Count,
  failed: z.array(boundedString(MAX.name)).max(MAX.few).describe('names of tools that failed at least once'),
});
export type TurnToolCounts = z.infer<typeof TurnToolCounts>;

/** How one turn stands or how it ended. */
export const TurnEndRecord = z.object({
  turnId: TurnId,
  sessionKey: SessionKey,
  state: TurnState,
  result: TurnResult.optional(),
  failure: TurnFailure.optional(),
  usage: TurnUsage.optional().describe('once the turn has ended'),
  steps: Count.optional(),
  tools: TurnToolCounts.optional().describe('once the turn has ended, if the call asks for it'),
  startedAt: Timestamp.optional(),
  finishedAt: Timestamp.optional(),
});
export type TurnEndRecord = z.infer<typeof TurnEndRecord>;

/** Turns that other services order, and how these services learn how a turn ended. */
export const turnOrderOperations = {
  'turns.order': {
    summary: 'Accepts a durable turn for another service. The same key returns the same turn.',
    callers: ORDERING_SERVICES,
    blobs: ['message', 'context', 'tools'],
    params: OrderTurn,
    result: TurnAccepted,
    emits: TURN_EVENTS,
    idempotent: true,
  },
  'turns.ends': {
    summary: 'Returns how turns of the caller stand, and waits until all of them have ended or the time is over.',
    callers: ORDERING_SERVICES,
    blobs: ['turns'],
    params: z.strictObject({
      turnIds: z.array(TurnId).min(1).max(MAX.few),
      waitMs: z.int().nonnegative().max(MAX_WAIT_MS).default(0),
      countTools: z.boolean().default(false).describe('whether to count the tool calls of ended turns'),
    }),
    result: z.object({
      turns: z.array(TurnEndRecord).max(MAX.few),
      missing: z.array(TurnId).max(MAX.few).describe('turns that do not exist, or belong to another client'),
    }),
    deadlineMs: MAX_WAIT_MS + 5_000,
    idempotent: true,
    reads: true,
  },
  'turns.exchange': {
    summary: 'Returns the message and the answer of a turn of the tenant that is done.',
    callers: ['scheduler'],
    params: z.strictObject({ turnId: TurnId }),
    result: z.object({
      message: boundedString(MAX.text),
      response: boundedString(MAX.text),
      messageIndex: Count.describe('position of the answer in its session'),
    }),
    blobs: ['message', 'response'],
    idempotent: true,
    reads: true,
  },
  'turns.cancel': {
    summary: 'Cancels a turn of the caller that has not ended, and returns how it stands.',
    callers: ORDERING_SERVICES,
    params: z
      .strictObject({
        turnId: TurnId.optional(),
        idempotencyKey: IdempotencyKey.optional().describe('the key of the order, for a caller that died before it stored the id'),
      })
      .refine((params) => (params.turnId === undefined) !== (params.idempotencyKey === undefined), {
        error: 'either turnId or idempotencyKey',
        params: { received: 'both or neither' },
      }),
    result: z.object({ turnId: TurnId, state: TurnState }),
    emits: TURN_EVENTS,
    idempotent: true,
  },
} satisfies OperationSpecs;
