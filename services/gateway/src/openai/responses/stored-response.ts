import { ServiceError, type Result } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Edge } from '../../http/edge.ts';
import { RefusalError } from '../../request/refusal.ts';
import { createCallOptions } from '../../request/trace.ts';
import type { Said } from '../chat-completions/completion-messages.ts';
import { saidBefore } from './response-items.ts';
import { turnOf, type ResponseHead } from './response-resource.ts';
import { refusedField } from '../openai-body.ts';

/** A response that is stored. */
export type KeptResponse = Result<'responses.get'>;

/** Speaks for the caller. */
export function speaker(edge: Edge, request: FastifyRequest) {
  return edge.bus.as(request.caller.principal);
}

/** Sets headers that forbid caching, because the body belongs to one client. */
export function uncached(reply: FastifyReply, body: object): object {
  reply.header('cache-control', 'no-store');
  return body;
}

export function headOf({ turnId, createdAt, echo }: Pick<KeptResponse, 'turnId' | 'createdAt' | 'echo'>): ResponseHead {
  return { turnId, createdAt, echo };
}

/** A response of the caller that is stored; with `talk` also what was said up to its answer. */
export function keptOf(edge: Edge, request: FastifyRequest, id: string, talk = false): Promise<KeptResponse> {
  return ofResponse(id, (turnId) => speaker(edge, request).call('responses.get', { turnId, talk }, createCallOptions(request)));
}

/** How it is by now. */
export function now(edge: Edge, request: FastifyRequest, turnId: string): Promise<KeptResponse> {
  return speaker(edge, request).call('responses.get', { turnId }, createCallOptions(request));
}

/** Asks something of a response; the refusal of an id that names none. */
export async function ofResponse<T>(id: string, ask: (turnId: string) => Promise<T>): Promise<T> {
  const turnId = turnOf(id);
  const unknown = new RefusalError({ status: 404, message: 'Response not found', code: 'NOT_FOUND', param: 'response_id' });
  if (turnId === undefined) throw unknown;
  try {
    return await ask(turnId);
  } catch (error) {
    throw error instanceof ServiceError && error.code === 'NOT_FOUND' ? unknown : error;
  }
}

/** Returns the conversation up to the end of an earlier response of the client, without its instructions. */
export async function conversationBefore(edge: Edge, request: FastifyRequest, id: string | undefined): Promise<Said[]> {
  if (id === undefined) return [];
  const { talk, result } = await keptOf(edge, request, id, true).catch((error: unknown) => {
    if (error instanceof RefusalError)
      throw refusedField('previous_response_id', 'expected the id of a response that is stored, got another');
    throw error;
  });
  if (!talk || !result)
    throw refusedField('previous_response_id', 'expected a response that has ended with an answer, got one that has not');
  const { system, message, history = [], since = [] } = talk;
  const answer = { role: 'assistant' as const, content: result.response, toolCalls: result.toolCalls };
  return [
    ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
    ...history.map(saidBefore),
    { role: 'user', content: message },
    ...since.map(saidBefore),
    answer,
  ];
}
