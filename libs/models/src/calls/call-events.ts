import { ServiceError } from '@switchyard/contracts';
import { emitEvent, scrub } from '@switchyard/telemetry';

/** Attributes of the span of a call, which its events repeat. */
export type CallAttributes = Record<string, string | number | boolean | string[]>;

export interface EndedCall {
  attributes: CallAttributes;
  error: unknown;
  /** Reason or code of the error; empty without one. */
  errorType: string;
  traceparent: string | undefined;
}

/** Exports the events of a model call with the OpenTelemetry names for generative AI. They contain no text of the conversation. */
export function exportCallEvents({ attributes, error, errorType, traceparent }: EndedCall): void {
  const failed = errorType === '' ? {} : { 'error.type': errorType };
  emitEvent('gen_ai.client.inference.operation.details', { ...attributes, ...failed }, { traceparent });
  // The reader of a cancelled call has left, so that nothing has failed.
  if (error === undefined || (error instanceof ServiceError && error.code === 'CANCELLED')) return;
  const exception = { 'exception.type': errorType, ...(error instanceof Error ? { 'exception.message': scrub(error.message) } : {}) };
  emitEvent('gen_ai.client.operation.exception', { ...attributes, ...failed, ...exception }, { traceparent, severity: 'warn' });
}
