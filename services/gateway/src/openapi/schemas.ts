import { IdempotencyKey, MAX, MemoryEntry, sessions } from '@switchyard/contracts';
import { z } from 'zod';
import type { QueryLimit } from '../request/query.ts';

// Schemas of routes without a contract. They are documentation only; nothing is validated with them.

export const Health = z.object({ status: z.literal('ok'), timestamp: z.iso.datetime() });
export const Ok = z.object({ status: z.literal('ok') });
export const Ready = z.looseObject({ ready: z.boolean(), status: z.string() });

const Id = z.union([z.string(), z.number()]);
const JsonRpcRequest = z.object({
  jsonrpc: z.literal('2.0'),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
  id: Id.optional().describe('omitted by notifications'),
});
const JsonRpcResponse = z.object({
  jsonrpc: z.literal('2.0'),
  id: Id.nullable(),
  result: z.unknown().optional(),
  error: z.object({ code: z.int(), message: z.string(), data: z.record(z.string(), z.unknown()).optional() }).optional(),
});
export const RpcBody = z.union([JsonRpcRequest, z.array(JsonRpcRequest).min(1)]);
export const RpcResponse = z.union([JsonRpcResponse, z.array(JsonRpcResponse)]);

export const McpBody = JsonRpcRequest;
export const McpResponse = JsonRpcResponse;
export const McpHeaders = z.object({
  accept: z.string().optional().describe('application/json and text/event-stream'),
  'mcp-protocol-version': z.string().optional().describe('the protocol revision of the client'),
});

/** The header that makes a request safe to retry. */
export const KeyHeader = z.object({ 'idempotency-key': IdempotencyKey.optional() });
export const LastEventHeader = z.object({ 'last-event-id': z.string().max(64).optional() });
export const LastEventQuery = z.object({
  lastEventId: z.string().max(64).optional().describe('replaces the header Last-Event-ID for clients that cannot set headers'),
});

export const ACTIVITY_LIMIT: QueryLimit = { max: 100, fallback: 50 };
export const MEMORY_LIMIT: QueryLimit = { max: 100, fallback: 10 };
export const RESPONSE_ITEMS_LIMIT: QueryLimit = { max: 100, fallback: 20 };
export const AUDIT_LIMIT: QueryLimit = { max: 1_000, fallback: 500 };

function limit({ max, fallback }: QueryLimit) {
  return z.int().min(1).max(max).default(fallback).describe('values outside the range are clamped');
}

const { limit: historyLimit, cursor } = sessions.methods['session.history'].params.shape;
export const HistoryQuery = z.object({ channelId: z.string().min(1).max(256).default('gateway'), limit: historyLimit, cursor });
export const ActivityQuery = z.object({ limit: limit(ACTIVITY_LIMIT) });
const ActivityEntry = z.object({
  id: z.string().describe('the position of the event, as in /api/events'),
  event: z.string(),
  payload: z.record(z.string(), z.unknown()),
  timestamp: z.int().describe('epoch milliseconds'),
});
export const Activity = z.object({ entries: z.array(ActivityEntry), count: z.int().nonnegative() });

export const AuditQuery = z.object({ after: z.int().nonnegative().default(0), limit: limit(AUDIT_LIMIT) });
export const MemoryQuery = z.object({ q: z.string().min(1).max(MAX.text), limit: limit(MEMORY_LIMIT) });
const FoundMemory = MemoryEntry.pick({ id: true, content: true, memoryType: true, trustLevel: true, score: true, createdAt: true });
export const MemorySearchResult = z.object({ results: z.array(FoundMemory) });

export const Channels = z.object({
  channels: z.array(z.object({ type: z.string(), name: z.string(), enabled: z.literal(true), status: z.literal('connected') })),
});

export const BrowserToken = z.object({
  id: z.string().describe('the id, for tokens.revoke'),
  token: z.string(),
  scopes: z.array(z.string()),
  expiresAt: z.iso.datetime(),
});
export const IssuedTicket = z.object({
  ticket: z.string().describe('the value of `?ticket=`, for one use'),
  expiresAt: z.int().describe('epoch milliseconds'),
});

export const StrictReceived = z.object({ received: z.literal(true) });
export const HookReceived = StrictReceived.extend({ mapping: z.string().nullable().describe('the id of the mapping, if it has one') });

export const RangeHeader = z.object({
  range: z.string().optional().describe('one range of bytes'),
  'if-range': z.string().optional(),
  'if-none-match': z.string().optional(),
});
export const MediaMeta = z.object({
  contentType: z.string(),
  savedAt: z.int().describe('epoch milliseconds'),
  size: z.int().nonnegative().describe('bytes'),
  expiresAt: z.int().describe('epoch milliseconds'),
});

export const Model = z.object({ id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.string() });
export const ModelList = z.object({ object: z.literal('list'), data: z.array(Model) });

const Vector = z.union([z.array(z.number()), z.string().describe('base64 of little-endian float32')]);
export const Embeddings = z.object({
  object: z.literal('list'),
  data: z.array(z.object({ object: z.literal('embedding'), index: z.int(), embedding: Vector })),
  model: z.string().describe('the model name of the provider'),
  usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
});

const Items = z.array(z.looseObject({ type: z.enum(['message', 'function_call']), id: z.string() }));

/** Output of `createResponseResource`, without the repeated request fields. */
export const ResponseResource = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int().describe('seconds'),
  completed_at: z.int().nullable(),
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  output: Items,
  usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
});
export const ResponseQuery = z.object({
  stream: z.enum(['true', 'false']).optional().describe('true: sent as events, from the beginning'),
  starting_after: z.int().nonnegative().optional().describe('the number of the last event that the client received'),
});
export const ResponseItemsQuery = z.object({
  limit: limit(RESPONSE_ITEMS_LIMIT),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().max(MAX.id).optional().describe('the id of the last item that the client received'),
});
export const ResponseInputItems = z.object({
  object: z.literal('list'),
  data: z.array(z.looseObject({ type: z.enum(['message', 'function_call', 'function_call_output']), id: z.string() })),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});
export const ResponseDeleted = z.object({ id: z.string(), object: z.literal('response'), deleted: z.boolean() });

const ToolCall = z.object({ id: z.string(), type: z.literal('function'), function: z.object({ name: z.string(), arguments: z.string() }) });

/** Output of `createCompletion`. */
export const Completion = z.object({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int().describe('seconds'),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.literal(0),
      message: z.object({ role: z.literal('assistant'), content: z.string().nullable(), tool_calls: z.array(ToolCall).optional() }),
      finish_reason: z.enum(['stop', 'length', 'tool_calls']),
    }),
  ),
  usage: z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() }),
});
