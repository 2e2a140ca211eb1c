import { AgentId, IdempotencyKey, MAX, parseParams } from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { getIdempotencyKey } from '../request/idempotency-key.ts';
import { getQueryText, type Query } from '../request/query.ts';
import { badRequest } from '../request/refusal.ts';
import type { ChatRequest } from '../turns/turn-start.ts';

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
  const message = getQueryText(query, 'message');
  if (message === undefined) throw badRequest('Missing required query parameter: message');
  const [agentId, sessionKey, idempotencyKey] = ['agentId', 'sessionKey', 'idempotencyKey'].map((name) => getQueryText(query, name));
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

/** The key that makes a retry the same turn: that of the header, or its twin in the body or the query. */
export function withIdempotencyKey(chat: ChatRequest, request: FastifyRequest): ChatRequest {
  const key = getIdempotencyKey(request, chat.idempotencyKey);
  return key === undefined ? chat : { ...chat, idempotencyKey: key };
}
