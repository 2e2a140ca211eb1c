import { z } from 'zod';
import { Count, IdempotencyKey, NoParams, pageSize, SessionKey, ActingAgentId } from '../values/common.ts';
import { defineMethods, TURN_DEADLINE_MS } from '../definition/define.ts';
import {
  CompactionResult,
  ConversationReset,
  SessionAnswer,
  SessionExport,
  SessionMatch,
  SessionLabel,
  SessionMessage,
  SessionStatus,
  SessionSummary,
  SessionTranscript,
  SubAgentRun,
  SubAgentSpawned,
} from './session-records.ts';
import { SPAWN_EVENTS } from './subagent.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { MODEL_EVENTS, TURN_EVENTS } from './turn-events.ts';

const KEY = 'default:alice:gateway';
const RUN = 'run_4fT0mUq2Zs8KxY1bNcVdGh';
/** One that `agent.start` begins. */
const TURN = 'turn_5Qm8Zr1nY0cVh3Kd7LsXwB';
const RUN_KEY = `default:sub-agent-${RUN}:sub-agent:${RUN}`;
const messages = [
  { role: 'user', content: 'hello', timestamp: 1763719200000 },
  { role: 'assistant', content: 'Hello, Alice.', timestamp: 1763719201200 },
];

const bySessionKey = z.strictObject({ session_key: SessionKey });

const sessionTurns = defineMethods({
  'session.send': {
    summary: 'Sends a message to a session and returns the agent’s answer.',
    scope: 'rpc',
    params: z.strictObject({
      key: SessionKey,
      message: z.string().min(1).max(MAX.text),
      agentId: ActingAgentId.optional(),
      idempotencyKey: IdempotencyKey.optional(),
    }),
    result: SessionAnswer,
    blobs: ['message', 'response'],
    deadlineMs: TURN_DEADLINE_MS,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED', 'DEADLINE_EXCEEDED', 'CANCELLED', 'UNAVAILABLE'],
    emits: TURN_EVENTS,
    examples: [
      {
        params: { key: KEY, message: 'hello' },
        result: {
          sessionKey: KEY,
          response: 'Hello, Alice.',
          tokensUsed: { input: 12, output: 4, total: 16 },
          finishReason: 'stop',
        },
      },
    ],
  },
  'session.spawn': {
    summary: 'Starts a sub-agent run for a session and returns immediately.',
    scope: 'rpc',
    params: z.strictObject({ parentKey: SessionKey, task: z.string().min(1).max(MAX.text), agentId: ActingAgentId.optional() }),
    result: SubAgentSpawned,
    blobs: ['task'],
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
    emits: SPAWN_EVENTS,
    examples: [
      {
        params: { parentKey: KEY, task: 'Compare the three offers.', agentId: 'researcher' },
        result: { runId: RUN, sessionKey: RUN_KEY, agentId: 'researcher', status: 'running', async: true },
      },
    ],
  },
});

const sessionReads = defineMethods({
  'session.status': {
    summary: 'Returns the caller’s agent, its model and the usage of its session.',
    description: 'Inside a turn, the session of that turn, else the newest session created by the caller; without one, the default agent.',
    scope: 'rpc',
    params: NoParams,
    result: SessionStatus,
    idempotent: true,
    reads: true,
    examples: [
      {
        params: {},
        result: {
          model: 'openai/gpt-5',
          agentName: 'Switchyard',
          tokensUsed: { totalTokens: 16, totalCost: 0.00006 },
          stepsExecuted: 1,
          maxSteps: 150,
        },
      },
    ],
  },
  'session.history': {
    summary: 'Returns the newest messages of one session, oldest first.',
    description:
      'An answer has at most 1 MiB of messages, in whole turns. The cursor of an answer continues with older messages. ' +
      'Without a key: inside a turn, the session of that turn, else the newest session created by the caller, optionally on one channel. Empty if none exists.',
    scope: 'rpc',
    params: z.strictObject({
      channelId: z.string().min(1).max(256).optional(),
      session_key: SessionKey.optional().describe('session key; the channel is ignored'),
      limit: z.int().min(1).max(1_000).optional().describe('maximum number of messages; a turn with more is returned whole'),
      cursor: boundedString(MAX.name).optional().describe('cursor of an earlier answer, for the messages before it'),
    }),
    result: z.object({
      messages: z.array(SessionMessage).max(MAX.all),
      cursor: boundedString(MAX.name).optional().describe('set if there are older messages'),
      label: SessionLabel.optional().describe('label of the session'),
    }),
    blobs: ['messages'],
    idempotent: true,
    reads: true,
    errors: ['NOT_FOUND'],
    examples: [{ params: { channelId: 'gateway' }, result: { messages } }],
  },
  'session.search': {
    summary: 'Searches sessions by message text.',
    description:
      'Returns the best match of each session, by the words of the query in any form. Tokens with sessions=own see only their sessions.',
    scope: 'rpc',
    tool: { group: 'context' },
    params: z.strictObject({ query: z.string().min(1).max(1000), limit: pageSize(10, 50) }),
    result: z.array(SessionMatch).max(50),
    blobs: ['*'],
    idempotent: true,
    reads: true,
    errors: ['UNAVAILABLE', 'RESOURCE_EXHAUSTED'],
    examples: [
      {
        params: { query: 'offer' },
        result: [
          {
            sessionKey: KEY,
            agentId: 'default',
            channelType: 'gateway',
            snippet: '…the second offer is the cheapest…',
            score: 1,
            timestamp: 1763719201200,
          },
        ],
      },
    ],
  },
  'session.run_status': {
    summary: 'Returns the progress and result of a run.',
    description: 'A run is a background turn, for example of agent.start; run_id is its id.',
    scope: 'rpc',
    tool: { group: 'runs' },
    params: z.strictObject({ run_id: z.string().min(1).max(128) }),
    result: SubAgentRun,
    blobs: ['task', 'response'],
    idempotent: true,
    reads: true,
    errors: ['NOT_FOUND'],
    examples: [
      {
        params: { run_id: TURN },
        result: {
          runId: TURN,
          status: 'completed',
          agentId: 'default',
          task: 'Compare the three offers.',
          sessionKey: KEY,
          startedAt: 1763719200000,
          completedAt: 1763719208200,
          runtimeMs: 8200,
          response: 'The second offer is the cheapest.',
          tokensUsed: { total: 5120 },
          cost: { total: 0.0184 },
        },
      },
    ],
  },
  'session.list': {
    summary: 'Lists the sessions of the tenant, newest first.',
    description: 'Tokens with sessions=own see only their sessions.',
    scope: 'admin',
    params: z.strictObject({
      kind: z.enum(['all', 'sub-agent', 'group', 'dm']).default('all'),
      since_minutes: z.number().nonnegative().optional().describe('only sessions used within this number of minutes'),
      label: SessionLabel.optional().describe('only sessions with exactly this label'),
      limit: z.int().min(1).max(1_000).default(1_000).describe('maximum number of sessions'),
      cursor: boundedString(MAX.name).optional().describe('cursor of an earlier answer, for the sessions after it'),
    }),
    result: z.object({
      sessions: z.array(SessionSummary).max(MAX.all),
      total: Count.optional().describe('number of sessions on all pages'),
      cursor: boundedString(MAX.name).optional().describe('set if there are more sessions'),
    }),
    blobs: ['sessions'],
    idempotent: true,
    examples: [
      {
        params: { kind: 'dm', since_minutes: 60 },
        result: {
          sessions: [
            {
              sessionKey: KEY,
              agentId: 'default',
              label: 'Three offers',
              messageCount: 2,
              updatedAt: 1763719201200,
              metadata: {},
              kind: 'dm',
            },
          ],
          total: 1,
        },
      },
    ],
  },
  'session.export': {
    summary: 'Returns one session with all its messages.',
    scope: 'admin',
    audited: 'read',
    params: bySessionKey,
    result: SessionExport,
    idempotent: true,
    blobs: ['messages', 'metadata'],
    errors: ['NOT_FOUND'],
    examples: [
      {
        params: { session_key: KEY },
        result: { sessionKey: KEY, messages, metadata: {}, messageCount: 2, createdAt: 1763719200000, updatedAt: 1763719201200 },
      },
    ],
  },
});

const sessionWrites = defineMethods({
  'session.delete': {
    summary: 'Deletes a session and returns its transcript.',
    scope: 'admin',
    audited: 'destructive',
    params: bySessionKey,
    result: z.object({ sessionKey: SessionKey, deleted: z.literal(true), transcript: SessionTranscript }),
    blobs: ['transcript'],
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    examples: [
      {
        params: { session_key: KEY },
        result: { sessionKey: KEY, deleted: true, transcript: { messages, metadata: {}, messageCount: 2 } },
      },
    ],
  },
  'session.reset': {
    summary: 'Resets a session, keeps its metadata and clears its approval decisions.',
    scope: 'admin',
    audited: 'destructive',
    params: bySessionKey,
    result: z.object({ sessionKey: SessionKey, reset: z.literal(true), previousMessageCount: Count }),
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    emits: ['session:expired'],
    examples: [{ params: { session_key: KEY }, result: { sessionKey: KEY, reset: true, previousMessageCount: 2 } }],
  },
  'session.compact': {
    summary: 'Replaces older messages of a session by summaries in the prompt.',
    description: 'All messages are kept. Counts refer to the prompt: messages and the summaries that replace them.',
    scope: 'admin',
    params: z.strictObject({ key: SessionKey }),
    result: CompactionResult,
    deadlineMs: 120_000,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'UNAVAILABLE'],
    emits: [...MODEL_EVENTS, 'context:dag_compacted'],
    examples: [
      {
        params: { key: KEY },
        result: {
          sessionKey: KEY,
          messageCount: 120,
          estimatedTokens: 48200,
          compactionTriggered: true,
          instructions: null,
          messagesAfter: 24,
          tokensAfter: 9100,
        },
      },
    ],
  },
  'session.reset_conversation': {
    summary: 'Deletes a conversation permanently: history, transcript and runtime state.',
    description:
      'Returns counts only. A missing session is not an error. purge_derived requires memory and also deletes observations supported by other sessions.',
    scope: 'admin',
    audited: 'destructive',
    params: z.strictObject({ session_key: SessionKey, memory: z.boolean().default(false), purge_derived: z.boolean().default(false) }),
    result: ConversationReset,
    idempotent: true,
    emits: ['session:expired'],
    examples: [
      {
        params: { session_key: KEY, memory: true },
        result: { sessionKey: KEY, lcdRowsDeleted: 14, sessionMessagesCleared: 2, memoriesDeleted: 3, runtimeSessionDestroyed: true },
      },
    ],
  },
});

export const sessionMethods = defineMethods({ ...sessionTurns, ...sessionReads, ...sessionWrites });
