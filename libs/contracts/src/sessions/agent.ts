import { z } from 'zod';
import { AgentId, Count, DurationMs, IdempotencyKey, Rate, SavingsRate, Scopes, SessionKey, SessionParts, Usd, Worker } from '../common.ts';
import { defineMethods, TURN_DEADLINE_MS } from '../define.ts';
import { TURN_EVENTS } from './turn-events.ts';
import { SessionAddress, TurnAccepted, TurnId, TurnResult, TurnState } from './turns.ts';
import { MAX, upTo } from '../sizes.ts';

const ExecuteParams = z.strictObject({
  message: z.string().min(1).max(MAX.text),
  agentId: Worker.optional(),
  sessionKey: SessionParts.optional(),
  scopes: Scopes.optional().describe('narrows what the turn may do; never widens it'),
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
  cancelled: z.boolean().describe('whether any of them was ended by cancelling it, now or before'),
  sessionKey: SessionKey,
  turns: z.array(z.object({ turnId: TurnId, state: TurnState })).max(MAX.all),
});

const turnId = 'turn_5Qm8Zr1nY0cVh3Kd7LsXwB';

/** What prompt caching hit, missed and saved. */
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
        provider: upTo(MAX.name),
        model: upTo(MAX.name),
        callCount: Count,
        totalCost: Usd,
        totalCacheSaved: Usd,
        cacheHitRate: SavingsRate.describe('saved / (cost + saved); below 0 where caching cost more than it saved'),
      }),
    )
    .max(MAX.many),
  totalCacheSaved: Usd,
  sizes: z.object({ entries: Count.optional() }),
});

const OperationModel = z.object({
  operationType: upTo(MAX.name).describe('interactive, subagent, cron, heartbeat, compaction, taskExtraction, condensation'),
  model: upTo(MAX.name),
  provider: upTo(MAX.name),
  source: z.enum(['config', 'default']),
  tieringActive: z.boolean(),
  timeoutMs: DurationMs,
  crossProvider: z.boolean(),
  apiKeyConfigured: z.boolean(),
});

/** Which model does which kind of work for an agent, and why. */
export const AgentOperationModels = z.object({
  agentId: AgentId,
  primaryModel: upTo(MAX.name),
  providerFamily: upTo(MAX.name),
  tieringActive: z.boolean(),
  operations: z.array(OperationModel).max(MAX.many),
});

export const agentMethods = defineMethods({
  'agent.execute': {
    summary: 'Runs one agent turn and answers when it is done.',
    description: 'A new session key creates its session, which is then the caller’s own. The turn is durable: leaving does not end it.',
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
    summary: 'Runs one agent turn like agent.execute; pieces of the answer come over GET /api/chat/stream only.',
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
    summary: 'Ends turns of the caller that run or wait: one by its id, or all that it has in a session.',
    description:
      'agentId and sessionKey mean the session that agent.execute would mean; with turnId they must fit its turn. When it answers, those turns have ended: nothing that their runners still do counts. What ended before is told with the state it ended in, and asking twice is as asking once. Turns of other clients are left alone.',
    scope: 'rpc',
    params: z.strictObject({
      turnId: TurnId.optional(),
      agentId: Worker.optional(),
      sessionKey: SessionAddress.optional().describe('its formatted key, or its parts'),
    }),
    result: AgentCancelled,
    blobs: ['turns'],
    idempotent: true,
    beyond: true,
    errors: ['NOT_FOUND', 'UNAVAILABLE'],
    emits: ['execution:aborted'],
    examples: [
      {
        params: { sessionKey: { userId: 'alice', channelId: 'gateway' } },
        result: { cancelled: false, sessionKey: 'default:alice:gateway', turns: [] },
      },
    ],
  },
  'agent.start': {
    summary: 'Begins one agent turn and answers when it is accepted; agent.attach follows it.',
    description:
      'As agent.execute, without waiting. Both mean the same turn by the same idempotencyKey, whose session must then be named alike.',
    scope: 'rpc',
    params: ExecuteParams.extend({ sessionKey: SessionAddress.optional().describe('its formatted key, or its parts') }),
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
    summary: 'Follows a turn of the caller to its end, and answers as agent.execute would have.',
    description:
      'Over a WebSocket its frames come meanwhile, as notifications agent.frame: those after the number of `after`, in order, each once, also to a connection that is made anew at another gateway. Leaving does not end the turn.',
    scope: 'rpc',
    params: z.strictObject({
      turnId: TurnId,
      after: z
        .int()
        .nonnegative()
        .max(999_999_999)
        .optional()
        .describe('the number of the last frame that the caller has; from the first without it'),
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
    summary: 'What prompt caching hit, missed and saved, for one agent or all.',
    description:
      'As the providers count it, over all replicas. A call is a hit when some of its input was cached. Development models have no cache and are not counted.',
    scope: 'admin',
    params: z.strictObject({
      agentId: AgentId.optional(),
      days: z.int().positive().max(30).default(30).describe('how many days of UTC back, today among them'),
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
    summary: 'Which model does which kind of work for an agent.',
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
