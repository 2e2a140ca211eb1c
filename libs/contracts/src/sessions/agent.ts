import { z } from 'zod';
import {
  AgentId,
  Count,
  DurationMs,
  IdempotencyKey,
  Rate,
  SavingsRate,
  Scopes,
  SessionKey,
  SessionParts,
  Usd,
  ActingAgentId,
} from '../values/common.ts';
import { defineMethods, TURN_DEADLINE_MS } from '../definition/define.ts';
import { TURN_EVENTS } from './turn-events.ts';
import { SessionAddress, TurnAccepted, TurnId, TurnResult, TurnState } from './turns.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const ExecuteParams = z.strictObject({
  message: z.string().min(1).max(MAX.text),
  agentId: ActingAgentId.optional(),
  sessionKey: SessionParts.optional(),
  scopes: Scopes.optional().describe('restricts the permissions of the turn; never extends them'),
  idempotencyKey: IdempotencyKey.optional(),
});

export const AgentAnswer = TurnResult.extend({ sessionKey: SessionKey.optional() });

const executeExample = {
  params: { message: 'hello', sessionKey: { userId: 'alice', channelId: 'gateway' } },
  result: {
    response: 'Hello, Alice.',
    tokensUsed: { input: 12, output: 4, total: 16 },
    finishReason: 'stop',
    sessionKey: 'default:alice:gateway',
  },
};

/** The turns that were meant, each with the state that it has ended in. */
export const AgentCancelled = z.object({
  cancelled: z.boolean().describe('whether any of them was cancelled, now or earlier'),
  sessionKey: SessionKey,
  turns: z.array(z.object({ turnId: TurnId, state: TurnState })).max(MAX.all),
});

const turnId = 'turn_5Qm8Zr1nY0cVh3Kd7LsXwB';

/** Prompt cache hits, misses and savings of an agent. */
export const AgentCacheStats = z.object({
  agentId: AgentId.optional(),
  cacheHits: Count,
  cacheMisses: Count,
  hitRate: Rate,
  missRate: Rate,
  totalTokensCached: Count,
  providers: z
    .array(
      z.object({
        provider: boundedString(MAX.name),
        model: boundedString(MAX.name),
        callCount: Count,
        totalCost: Usd,
        totalCacheSaved: Usd,
        cacheHitRate: SavingsRate.describe('saved / (cost + saved); negative if caching cost more than it saved'),
      }),
    )
    .max(MAX.many),
  totalCacheSaved: Usd,
  sizes: z.object({ entries: Count.optional() }),
});

const OperationModel = z.object({
  operationType: boundedString(MAX.name).describe('interactive, subagent, cron, heartbeat, compaction, taskExtraction, condensation'),
  model: boundedString(MAX.name),
  provider: boundedString(MAX.name),
  source: z.enum(['config', 'default']),
  tieringActive: z.boolean(),
  timeoutMs: DurationMs,
  crossProvider: z.boolean(),
  apiKeyConfigured: z.boolean(),
});

/** Which model does which kind of work for an agent, and why. */
export const AgentOperationModels = z.object({
  agentId: AgentId,
  primaryModel: boundedString(MAX.name),
  providerFamily: boundedString(MAX.name),
  tieringActive: z.boolean(),
  operations: z.array(OperationModel).max(MAX.many),
});

export const agentMethods = defineMethods({
  'agent.execute': {
    summary: 'Runs one agent turn and returns its result.',
    description: 'A new session key creates a session owned by the caller. The turn is durable: disconnecting does not end it.',
    scope: 'rpc',
    params: ExecuteParams,
    result: AgentAnswer,
    blobs: ['message', 'response'],
    deadlineMs: TURN_DEADLINE_MS,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED', 'DEADLINE_EXCEEDED', 'CANCELLED', 'UNAVAILABLE'],
    emits: TURN_EVENTS,
    examples: [executeExample],
  },
  'agent.stream': {
    summary: 'Runs one agent turn like agent.execute. Streaming is available at GET /api/chat/stream.',
    scope: 'rpc',
    params: ExecuteParams,
    result: AgentAnswer,
    blobs: ['message', 'response'],
    deadlineMs: TURN_DEADLINE_MS,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED', 'DEADLINE_EXCEEDED', 'CANCELLED', 'UNAVAILABLE'],
    emits: TURN_EVENTS,
    examples: [executeExample],
  },
  'agent.cancel': {
    summary: 'Cancels running and waiting turns of the caller: one by id, or all in a session.',
    description:
      'agentId and sessionKey select the session as in agent.execute; with turnId they must match its turn. After the response the turns have ended, and later results of their runners are discarded. Turns that ended earlier are returned with their state. Turns of other clients are not affected. Idempotent.',
    scope: 'rpc',
    params: z.strictObject({
      turnId: TurnId.optional(),
      agentId: ActingAgentId.optional(),
      sessionKey: SessionAddress.optional().describe('formatted key, or its parts'),
    }),
    result: AgentCancelled,
    blobs: ['turns'],
    idempotent: true,
    beyond: true,
    errors: ['NOT_FOUND', 'UNAVAILABLE'],
    emits: ['execution:aborted', 'turn:ended'],
    examples: [
      {
        params: { sessionKey: { userId: 'alice', channelId: 'gateway' } },
        result: { cancelled: false, sessionKey: 'default:alice:gateway', turns: [] },
      },
    ],
  },
  'agent.start': {
    summary: 'Starts one agent turn and returns when it is accepted; agent.attach follows it.',
    description: 'Like agent.execute, without waiting. The same idempotencyKey selects the same turn in both; the session must match.',
    scope: 'rpc',
    params: ExecuteParams.extend({ sessionKey: SessionAddress.optional().describe('formatted key, or its parts') }),
    result: TurnAccepted,
    blobs: ['message'],
    beyond: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED', 'UNAVAILABLE'],
    emits: TURN_EVENTS,
    examples: [
      {
        params: { message: 'hello', sessionKey: { userId: 'alice', channelId: 'gateway' } },
        result: { turnId, sessionKey: 'default:alice:gateway', state: 'queued' },
      },
    ],
  },
  'agent.attach': {
    summary: 'Follows a turn of the caller to its end and returns the result of agent.execute.',
    description:
      'Over a WebSocket, frames after the number `after` arrive as notifications agent.frame, in order, each once, also on a new connection to another gateway. Disconnecting does not end the turn.',
    scope: 'rpc',
    params: z.strictObject({
      turnId: TurnId,
      after: z.int().nonnegative().max(999_999_999).optional().describe('number of the last received frame; default: from the first'),
    }),
    result: AgentAnswer.extend({ turnId: TurnId }),
    blobs: ['response'],
    deadlineMs: TURN_DEADLINE_MS,
    idempotent: true,
    beyond: true,
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED', 'CANCELLED', 'UNAVAILABLE'],
    examples: [{ params: { turnId }, result: { ...executeExample.result, turnId } }],
  },
  'agent.cacheStats': {
    summary: 'Returns hits, misses and savings of prompt caching, for one agent or all.',
    description:
      'As counted by the providers, over all replicas. A call is a hit if part of its input was cached. Development models are not counted.',
    scope: 'admin',
    params: z.strictObject({
      agentId: AgentId.optional(),
      days: z.int().positive().max(30).default(30).describe('number of UTC days including today'),
    }),
    result: AgentCacheStats,
    blobs: ['providers'],
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [
      {
        params: { agentId: 'default' },
        result: {
          agentId: 'default',
          cacheHits: 31,
          cacheMisses: 9,
          hitRate: 0.775,
          missRate: 0.225,
          totalTokensCached: 184000,
          providers: [{ provider: 'openai', model: 'gpt-5', callCount: 40, totalCost: 0.92, totalCacheSaved: 0.31, cacheHitRate: 0.252 }],
          totalCacheSaved: 0.31,
          sizes: { entries: 12 },
        },
      },
    ],
  },
  'agent.getOperationModels': {
    summary: 'Returns the model of each operation of an agent.',
    scope: 'admin',
    params: z.strictObject({ agentId: AgentId }),
    result: AgentOperationModels,
    blobs: ['operations'],
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [
      {
        params: { agentId: 'default' },
        result: {
          agentId: 'default',
          primaryModel: 'gpt-5',
          providerFamily: 'openai',
          tieringActive: true,
          operations: [
            {
              operationType: 'heartbeat',
              model: 'gpt-5-nano',
              provider: 'openai',
              source: 'default',
              tieringActive: true,
              timeoutMs: 60000,
              crossProvider: false,
              apiKeyConfigured: true,
            },
          ],
        },
      },
    ],
  },
});
