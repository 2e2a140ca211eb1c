import { AgentId, IdempotencyKey, MAX, parseParams } from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { getIdempotencyKey } from '../request/idempotency-key.ts';
import { getQueryText, type Query } from '../request/query.ts';
import { createBadRequest } from '../request/refusal.ts';
import type { ChatRequest } from '../turns/turn-start.ts';

export const ChatBody = z.strictObject({
  message: z.string().max(MAX.text),
  agentId: z.string().max(MAX.name).optional(),
  sessionKey: z.string().max(MAX.line).optional(),
  idempotencyKey: IdempotencyKey.optional(),
});
const MAX_SHOWN_CHARS = 64;

/** Parses the body of `POST /api/chat`. Throws a refusal for an invalid body. */
export function parseChatBody(body: unknown): ChatRequest {
  const message = typeof body === 'object' && body !== null && 'message' in body ? body.message : undefined;
  if (typeof message !== 'string' || message === '') throw createBadRequest('Missing required field: message (string)');
  return toChatRequest(parseParams(ChatBody, body));
}

/** Parses the query of `GET /api/chat/stream`. Unknown parameters are ignored, because caches and proxies add their own. */
export function parseChatQuery(query: Query): ChatRequest {
  const message = getQueryText(query, 'message');
  if (message === undefined) throw createBadRequest('Missing required query parameter: message');
  const [agentId, sessionKey, idempotencyKey] = ['agentId', 'sessionKey', 'idempotencyKey'].map((name) => getQueryText(query, name));
  return toChatRequest({ message, agentId, sessionKey, idempotencyKey });
}

function toChatRequest({ message, agentId, sessionKey, idempotencyKey }: z.output<typeof ChatBody>): ChatRequest {
  if (agentId !== undefined && !AgentId.safeParse(agentId).success)
    throw createBadRequest(`Unknown agent: ${agentId.slice(0, MAX_SHOWN_CHARS)}`);
  return {
    message,
    ...(agentId === undefined ? {} : { agentId }),
    ...(sessionKey === undefined ? {} : { session: sessionKey }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}

/** Adds the idempotency key from the header, the body or the query. */
export function withIdempotencyKey(chat: ChatRequest, request: FastifyRequest): ChatRequest {
  const key = getIdempotencyKey(request, chat.idempotencyKey);
  return key === undefined ? chat : { ...chat, idempotencyKey: key };
}
