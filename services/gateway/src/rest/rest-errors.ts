import { errorData, ServiceError } from '@switchyard/contracts';
import { toRefusal, RefusalError } from '../request/refusal.ts';

/** What REST says where it has a status of its own; everything else follows its code. */
export function restError(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.details.reason !== 'AGENT_SUSPENDED') return error;
  return new RefusalError({ ...toRefusal(error), status: 409 }, error);
}

/** The data of an SSE `error` event: the text, and what a program may know besides. */
export function errorEventData(error: ServiceError, requestId: string): Record<string, unknown> {
  return { error: error.message, ...errorData(error, requestId) };
}
