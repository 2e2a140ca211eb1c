import { ServiceError, type Result } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Edge } from '../../http/edge.ts';
import { RefusalError } from '../../request/refusal.ts';
import { isLenient } from '../../request/lenient-path.ts';
import { createCallOptions } from '../../request/trace.ts';
import type { RequestMessage } from '../chat-completions/completion-messages.ts';
import { toRequestMessage } from './response-items.ts';
import { parseResponseId, type ResponseHead } from './response-resource.ts';
import { createFieldError } from '../openai-body.ts';

export type StoredResponse = Result<'responses.get'>;

/** Returns the bus that calls as the caller of the request. */
export function getCallerBus(edge: Edge, request: FastifyRequest) {
  return edge.bus.as(request.caller.principal);
}

/** Sets headers that forbid caching, because the body belongs to one client. */
export function setNoStore(reply: FastifyReply, body: object): object {
  reply.header('cache-control', 'no-store');
  return body;
}

export function toResponseHead(
  { raw, caller }: FastifyRequest,
  { turnId, createdAt, echo }: Pick<StoredResponse, 'turnId' | 'createdAt' | 'echo'>,
): ResponseHead {
  return { turnId, createdAt, echo, lenient: isLenient(raw, caller) };
}

/** Reads a stored response of the caller; with `talk` including its input. */
export function getStoredResponse(edge: Edge, request: FastifyRequest, id: string, talk = false): Promise<StoredResponse> {
  return callForResponse(id, (turnId) => getCallerBus(edge, request).call('responses.get', { turnId, talk }, createCallOptions(request)));
}

/** Reads the current state of a response. */
export function readStoredResponse(edge: Edge, request: FastifyRequest, turnId: string): Promise<StoredResponse> {
  return getCallerBus(edge, request).call('responses.get', { turnId }, createCallOptions(request));
}

/** Calls a method with the turn of a response id. Throws a 404 refusal for an unknown id. */
export async function callForResponse<T>(id: string, call: (turnId: string) => Promise<T>): Promise<T> {
  const turnId = parseResponseId(id);
  const notFound = new RefusalError({ status: 404, message: 'Response not found', code: 'NOT_FOUND', param: 'response_id' });
  if (turnId === undefined) throw notFound;
  try {
    return await call(turnId);
  } catch (error) {
    throw error instanceof ServiceError && error.code === 'NOT_FOUND' ? notFound : error;
  }
}

/** The fields of a request that continues an earlier response. */
interface PreviousResponse {
  previous_response_id?: string | undefined;
  model: string;
}

/**
 * Returns the conversation up to the end of an earlier response of the client, without its instructions. The fields of the provider are
 * included if the model is the same, because other providers reject them.
 */
export async function readPreviousConversation(
  edge: Edge,
  request: FastifyRequest,
  { previous_response_id: id, model }: PreviousResponse,
): Promise<RequestMessage[]> {
  if (id === undefined) return [];
  const { talk, result, echo } = await getStoredResponse(edge, request, id, true).catch((error: unknown) => {
    if (error instanceof RefusalError)
      throw createFieldError('previous_response_id', 'expected the id of a stored response, got another id');
    throw error;
  });
  if (!talk || !result) throw createFieldError('previous_response_id', 'expected a completed response, got a response without a result');
  const { system, message, images, history = [], since = [] } = talk;
  const { response: content, toolCalls, providerFields } = result;
  const answer = { role: 'assistant' as const, content, toolCalls, providerFields };
  const messages: RequestMessage[] = [
    ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
    ...history.map(toRequestMessage),
    { role: 'user', content: message, images },
    ...since.map(toRequestMessage),
    answer,
  ];
  return echo['model'] === model ? messages : messages.map(withoutProviderFields);
}

function withoutProviderFields(message: RequestMessage): RequestMessage {
  if (message.role !== 'assistant') return message;
  const { content, toolCalls } = message;
  return {
    role: 'assistant',
    content,
    toolCalls: toolCalls?.map(({ callId, name, arguments: args }) => ({ callId, name, arguments: args })),
  };
}
