import { httpStatus, openAiErrorType, ServiceError } from '@switchyard/contracts';
import { toRefusal, RefusalError } from '../request/refusal.ts';

/** The `/v1` request field of each turn field. */
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

/** Field names that differ on `/v1/responses`. */
export const RESPONSE_FIELDS: Readonly<Record<string, string>> = {
  ...FIELDS,
  message: 'input',
  history: 'input',
  since: 'input',
  system: 'instructions',
  response: 'previous_response_id',
  format: 'text',
  maxTokens: 'max_output_tokens',
};

/** The request field that a service rejected. */
function findParam({ code, details }: ServiceError, fields: typeof FIELDS): string | undefined {
  return code === 'INVALID_ARGUMENT' ? fields[details.issues?.[0]?.path.split('.')[0] ?? ''] : undefined;
}

/** Reasons of NOT_FOUND whose message helps the client. */
const OWN_MESSAGE: ReadonlySet<unknown> = new Set(['NO_EMBEDDER', 'MODEL_HIDDEN']);

/** On `/v1` NOT_FOUND always means the model, and the protocol defines the message. */
function toMessage({ code, message, details }: ServiceError): string {
  return code === 'NOT_FOUND' && !OWN_MESSAGE.has(details.reason) ? 'Model not found' : message;
}

/** `Retry-After` during an outage of unknown length. A stateless call does not wait for it as a durable turn does. */
const OUTAGE_RETRY_AFTER_MS = 1_000;

/** Converts the error of a turn that failed before its `/v1` response started. */
export function toCompletionError(error: unknown, fields = FIELDS): unknown {
  if (!(error instanceof ServiceError)) return error;
  const retryAfterMs = error.details.retryAfterMs ?? (isOutage(error) ? OUTAGE_RETRY_AFTER_MS : undefined);
  const headers: Record<string, string> = retryAfterMs === undefined ? {} : { 'retry-after-ms': String(Math.ceil(retryAfterMs)) };
  const param = findParam(error, fields);
  const overrides = { message: toMessage(error), headers, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  return new RefusalError({ ...toRefusal(error), ...overrides, ...(param === undefined ? {} : { param }) }, error);
}

/** A provider or a service did not answer, and the turn had no effect. */
function isOutage({ code, retryable }: ServiceError): boolean {
  return code === 'UNAVAILABLE' && retryable;
}

/** Creates the error frame of a turn that failed after its `/v1` response started. */
export function createErrorFrame(error: ServiceError): string {
  const type = openAiErrorType(httpStatus(error.code));
  return `data: ${JSON.stringify({ error: { message: toMessage(error), type, param: null, code: null } })}\n\n`;
}
