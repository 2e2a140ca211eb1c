import { AgentId, MAX, parseParams, type Params } from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { badRequest } from './errors.ts';

/** What a chat route asks of an agent; the route adds the id of the turn. */
export type ChatRequest = Omit<Params<'turns.start'>, 'turnId'>;

export const ChatBody = z.strictObject({
  message: z.string().max(MAX.text),
  agentId: z.string().max(MAX.name).optional(),
  sessionKey: z.string().max(MAX.line).optional(),
});
const MAX_NAMED = 64;

/** The body of `POST /api/chat`; throws the refusal of one that is wrong. */
export function chatBody(body: unknown): ChatRequest {
  const message = typeof body === 'object' && body !== null && 'message' in body ? body.message : undefined;
  if (typeof message !== 'string' || message === '') throw badRequest('Missing required field: message (string)');
  return toChatRequest(parseParams(ChatBody, body));
}

/** The query of `GET /api/chat/stream`. Names it does not know are left alone: caches and proxies add their own. */
export function chatQuery(query: Query): ChatRequest {
  const message = queryText(query, 'message');
  if (message === undefined) throw badRequest('Missing required query parameter: message');
  return toChatRequest({ message, agentId: queryText(query, 'agentId'), sessionKey: queryText(query, 'sessionKey') });
}

function toChatRequest({ message, agentId, sessionKey }: z.output<typeof ChatBody>): ChatRequest {
  if (agentId !== undefined && !AgentId.safeParse(agentId).success) throw badRequest(`Unknown agent: ${agentId.slice(0, MAX_NAMED)}`);
  return { message, ...(agentId === undefined ? {} : { agentId }), ...(sessionKey === undefined ? {} : { session: sessionKey }) };
}

/** A query as the server parses it: a name given twice has an array. */
export type Query = Readonly<Record<string, unknown>>;

/** One parameter; undefined when it is absent or empty. */
export function queryText(query: Query, name: string): string | undefined {
  const value = query[name];
  if (typeof value !== 'string' && value !== undefined) throw badRequest(`Query parameter given more than once: ${name}`);
  return value === '' ? undefined : value;
}

/** The key that makes a retry the same turn, from its header or its twin in the query. */
export function withIdempotencyKey(chat: ChatRequest, { headers }: FastifyRequest, query: Query = {}): ChatRequest {
  const header = headers['idempotency-key'];
  const key = typeof header === 'string' && header !== '' ? header : queryText(query, 'idempotencyKey');
  return key === undefined ? chat : { ...chat, idempotencyKey: key };
}
