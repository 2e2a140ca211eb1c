import { httpStatus, openAiErrorType, ServiceError } from '@switchyard/contracts';
import { toRefusal, RefusalError } from '../request/refusal.ts';

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

/** Field names that differ on `/v1/responses`. */
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
  return new RefusalError({ ...toRefusal(error), ...told, ...(param === undefined ? {} : { param }) }, error);
}

/** A turn that failed after its `/v1` answer began, as the frame that says so. */
export function errorFrame(known: ServiceError): string {
  const type = openAiErrorType(httpStatus(known.code));
  return `data: ${JSON.stringify({ error: { message: messageOf(known), type, param: null, code: null } })}\n\n`;
}
