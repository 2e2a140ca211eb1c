import { errorData, ServiceError } from '@switchyard/contracts';
import { toRefusal, RefusalError } from '../request/refusal.ts';

/** Errors with a status specific to REST; other errors use the status of their code. */
export function toRestError(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.details.reason !== 'AGENT_SUSPENDED') return error;
  return new RefusalError({ ...toRefusal(error), status: 409 }, error);
}

/** The data of an SSE `error` event: the message and machine-readable fields. */
export function createErrorEventData(error: ServiceError, requestId: string): Record<string, unknown> {
  return { error: error.message, ...errorData(error, requestId) };
}
