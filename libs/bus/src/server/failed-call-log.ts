import type { ErrorCode, ServiceError } from '@switchyard/contracts';
import { createLogThrottle, parseTraceparent, type LogThrottle, type LogGroup } from '@switchyard/telemetry';
import { REQUEST, TRACEPARENT } from '../wire/headers.ts';
import type { ActiveCall } from './active-call.ts';

const MAX_TEXT = 500;

/** Codes of defects, logged as errors. All other codes are part of the API. */
const DEFECTS: ReadonlySet<ErrorCode> = new Set(['INTERNAL', 'UNKNOWN', 'DATA_LOSS']);

/** A call that failed. */
export interface FailedCall {
  call: ActiveCall;
  error: ServiceError;
  thrown: unknown;
}

/**
 * Logs each failed call with its request id. Overload rejections (RESOURCE_EXHAUSTED) share log lines, because rejecting a call must cost
 * less than handling it.
 */
export function createRejectionLog(): LogThrottle<FailedCall> {
  return createLogThrottle({ getKind: describeKind, write });
}

export function logFailure(refusals: LogThrottle<FailedCall>, failed: FailedCall): void {
  const { call, error } = failed;
  if (!call.method.log.isLevelEnabled(getLevel(error))) return;
  const id = call.message.header(REQUEST) ?? '';
  if (error.code === 'RESOURCE_EXHAUSTED') refusals.log(failed, id);
  else write({ first: failed, ids: new Set([id]), count: 1 });
}

function getLevel({ code }: ServiceError): 'error' | 'info' {
  return DEFECTS.has(code) ? 'error' : 'info';
}

function describeKind({ call: { method, principal }, error }: FailedCall): string {
  return [method.callable.name, error.details.reason, error.message, principal.tenant, principal.client].join(' ');
}

function write({ first: { call, error, thrown }, ids, count }: LogGroup<FailedCall>): void {
  const { method, message, principal } = call;
  const { code, cause, details } = error;
  const level = getLevel(error);
  const line = {
    ...(ids.size === 1
      ? { requestId: message.header(REQUEST), traceId: parseTraceparent(message.header(TRACEPARENT))?.traceId }
      : { requestIds: [...ids] }),
    ...(count === 1 ? {} : { count }),
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
