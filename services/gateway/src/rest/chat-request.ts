import type { IncomingMessage } from 'node:http';
import { AgentId, IdempotencyKey, MAX, parseParams, type Params } from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Limit } from '../openapi/schemas.ts';
import { badRequest } from '../turns/turn-errors.ts';

/** What a chat route asks of an agent; the route adds the id of the turn. */
export type ChatRequest = Omit<Params<'turns.start'>, 'turnId'>;

export const ChatBody = z.strictObject({
  message: z.string().max(MAX.text),
  agentId: z.string().max(MAX.name).optional(),
  sessionKey: z.string().max(MAX.line).optional(),
  idempotencyKey: IdempotencyKey.optional(),
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
  const [agentId, sessionKey, idempotencyKey] = ['agentId', 'sessionKey', 'idempotencyKey'].map((name) => queryText(query, name));
  return toChatRequest({ message, agentId, sessionKey, idempotencyKey });
}

function toChatRequest({ message, agentId, sessionKey, idempotencyKey }: z.output<typeof ChatBody>): ChatRequest {
  if (agentId !== undefined && !AgentId.safeParse(agentId).success) throw badRequest(`Unknown agent: ${agentId.slice(0, MAX_NAMED)}`);
  return {
    message,
    ...(agentId === undefined ? {} : { agentId }),
    ...(sessionKey === undefined ? {} : { session: sessionKey }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}

/** A query as the server parses it: a name given twice has an array. */
export type Query = Readonly<Record<string, unknown>>;

/** One parameter; undefined when it is absent or empty. */
export function queryText(query: Query, name: string): string | undefined {
  const value = query[name];
  if (typeof value !== 'string' && value !== undefined) throw badRequest(`Query parameter given more than once: ${name}`);
  return value === '' ? undefined : value;
}

/** How many of something; what is no number, or beyond 1 to `most`, is brought back into it. */
export function queryLimit(query: Query, { most, unless }: Limit): number {
  const text = queryText(query, 'limit');
  const asked = text === undefined ? Number.NaN : Number(text);
  return Number.isNaN(asked) ? unless : Math.min(Math.max(Math.trunc(asked), 1), most);
}

/** The key that makes a retry the same turn: that of the header, or its twin in the body or the query. */
export function withIdempotencyKey(chat: ChatRequest, request: FastifyRequest): ChatRequest {
  const key = idempotencyKeyOf(request, chat.idempotencyKey);
  return key === undefined ? chat : { ...chat, idempotencyKey: key };
}

/** The key of a request, which may also stand in what it says. Throws the refusal of one that is none, or of two. */
export function idempotencyKeyOf({ headers }: Pick<IncomingMessage, 'headers'>, twin?: string): string | undefined {
  const header = headers['idempotency-key'];
  const key = typeof header === 'string' ? header : twin;
  if (key === undefined) return undefined;
  if (twin !== undefined && twin !== key) throw badRequest('Idempotency-Key: the header and idempotencyKey differ; send it in one place');
  if (!IdempotencyKey.safeParse(key).success) throw badRequest(`Idempotency-Key: expected ${IdempotencyKey.description ?? 'a key'}`);
  return key;
}
