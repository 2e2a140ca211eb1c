import type { ErrorCode, ServiceError } from '@switchyard/contracts';
import { parseTraceparent } from '@switchyard/telemetry';
import { REQUEST, TRACEPARENT } from './headers.ts';
import type { Running } from './running.ts';

const MAX_TEXT = 500;

/** Defects. Everything else was said to the caller as it is. */
const OURS: ReadonlySet<ErrorCode> = new Set(['INTERNAL', 'UNKNOWN', 'DATA_LOSS']);

/** A line for each call that a service answers with an error, under the ids that its client is shown. */
export function logFailure({ method, message, principal }: Running, error: ServiceError, thrown: unknown): void {
  const { code, cause, details } = error;
  const level = OURS.has(code) ? 'error' : 'info';
  if (!method.log.isLevelEnabled(level)) return;
  const line = {
    requestId: message.header(REQUEST),
    traceId: parseTraceparent(message.header(TRACEPARENT))?.traceId,
    turnId: details.turnId,
    method: method.callable.name,
    code,
    reason: details.reason,
    status: details['status'],
    error: error.message.slice(0, MAX_TEXT),
    tenant: principal.tenant,
    client: principal.client,
    ...(level === 'error' ? { err: thrown } : cause === undefined ? {} : { err: cause }),
  };
  method.log[level](line, 'call failed');
}
