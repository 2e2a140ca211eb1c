import { errorData, httpStatus, openAiErrorType, ServiceError, type ErrorCode, type TurnFailure } from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';
import type { Edge } from '../http/edge.ts';
import { describeError } from '../request/failure-log.ts';
import { refusalOf, RefusalError } from '../request/refusal.ts';

/** The failure that ended a turn, as the error it was. */
export function failureError({ code, message, details }: TurnFailure): ServiceError {
  return new ServiceError(code, message, { details: details ?? {} });
}

export function frameGap(turnId: string): ServiceError {
  return new ServiceError('DATA_LOSS', 'A part of the answer was lost.', { details: { reason: 'STREAM_GAP', turnId } });
}

export function turnSilent(turnId: string): ServiceError {
  return new ServiceError('UNAVAILABLE', 'The turn fell silent.', { details: { reason: 'STREAM_SILENT', turnId } });
}

export function notAwaited(turnId: string): ServiceError {
  const message = 'The gateway is shutting down and could not wait for the turn, which goes on.';
  return new ServiceError('UNAVAILABLE', message, { details: { reason: 'SHUTTING_DOWN', turnId } });
}

/** Codes that say that something did not come, and nothing of the turn. */
const UNHEARD: ReadonlySet<ErrorCode> = new Set(['DEADLINE_EXCEEDED', 'DATA_LOSS']);

/** Why an accepted turn cannot be followed. It may go on, so asking again would ask twice, unless that names the same turn. */
export function unfollowed(error: ServiceError, { turnId, repeatable }: { turnId: string; repeatable: boolean }): ServiceError {
  const { code, message, details, cause } = error;
  const retryable = repeatable && (error.retryable || UNHEARD.has(code));
  return new ServiceError(code, message, { details: { ...details, turnId, retryable }, cause });
}

export function badRequest(message: string): RefusalError {
  return new RefusalError({ status: 400, message, code: 'INVALID_ARGUMENT' });
}

/** What REST says where it has a status of its own; everything else follows its code. */
export function restError(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.details.reason !== 'AGENT_SUSPENDED') return error;
  return new RefusalError({ ...refusalOf(error), status: 409 }, error);
}

/** Writes down an error that a stream tells, which begins after its request was answered. */
export function noteFailure({ failures }: Pick<Edge, 'failures'>, request: FastifyRequest, error: ServiceError): void {
  const { id: requestId, caller, method, routeOptions } = request;
  const { code, message } = error;
  failures.note({ requestId, route: `${method} ${routeOptions.url}`, code, message, caller, ...describeError(error) });
}

/** The data of an SSE `error` event: the text, and what a program may know besides. */
export function errorEventData(error: ServiceError, requestId: string): Record<string, unknown> {
  return { error: error.message, ...errorData(error, requestId) };
}

/** The fields of a `/v1` request that become a field of its turn. */
const FIELDS: Readonly<Record<string, string>> = {
  model: 'model',
  message: 'messages',
  history: 'messages',
  since: 'messages',
  system: 'messages',
  tools: 'tools',
  input: 'input',
  dimensions: 'dimensions',
  stop: 'stop',
  format: 'response_format',
  temperature: 'temperature',
  maxTokens: 'max_tokens',
};

/** Of `/v1/responses` those that are called otherwise. */
export const RESPONSE_FIELDS: Readonly<Record<string, string>> = {
  ...FIELDS,
  message: 'input',
  history: 'input',
  since: 'input',
  system: 'instructions',
  format: 'text',
  maxTokens: 'max_output_tokens',
};

/** The field of the request that a service found wrong. */
function paramOf({ code, details }: ServiceError, fields: typeof FIELDS): string | undefined {
  return code === 'INVALID_ARGUMENT' ? fields[details.issues?.[0]?.path.split('.')[0] ?? ''] : undefined;
}

/** On `/v1` whatever is not found is the model, here or at its provider, and the interface fixes the words. */
function messageOf({ code, message, details }: ServiceError): string {
  return code === 'NOT_FOUND' && details.reason !== 'NO_EMBEDDER' ? 'Model not found' : message;
}

/** A turn that failed before its `/v1` answer began. */
export function completionError(error: unknown, fields = FIELDS): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { retryAfterMs } = error.details;
  const headers: Record<string, string> = retryAfterMs === undefined ? {} : { 'retry-after-ms': String(Math.ceil(retryAfterMs)) };
  const param = paramOf(error, fields);
  const told = { message: messageOf(error), headers };
  return new RefusalError({ ...refusalOf(error), ...told, ...(param === undefined ? {} : { param }) }, error);
}

/** A turn that failed after its `/v1` answer began, as the frame that says so. */
export function errorFrame(known: ServiceError): string {
  const type = openAiErrorType(httpStatus(known.code));
  return `data: ${JSON.stringify({ error: { message: messageOf(known), type, param: null, code: null } })}\n\n`;
}
