import { ServiceError, type ErrorCode } from '@switchyard/contracts';
import { createLogThrottle, parseTraceparent, type Logger, type LogGroup } from '@switchyard/telemetry';
import type { FastifyRequest } from 'fastify';
import type { Caller } from './caller.ts';
import { RefusalError } from './refusal.ts';

/** An error returned to a client, with its ids. */
export interface Failure {
  requestId: string;
  turnId?: string | undefined;
  /** The trace of the caller. */
  traceparent?: string | undefined;
  route: string;
  /** The called method, as the client sent it. */
  method?: string | undefined;
  /** The path of a request without a route. */
  path?: string | undefined;
  /** The HTTP status. */
  status?: number;
  code: ErrorCode;
  reason?: string | undefined;
  message: string;
  /** The internal cause. */
  cause?: unknown;
  caller?: Caller | undefined;
  /** The client address, when the caller is unknown. */
  address?: string | undefined;
}

/** Logs every error that the gateway returns to a client. */
export interface FailureLog extends Disposable {
  log(failure: Failure): void;
}

const MAX_TEXT = 500;
const MAX_NAME = 100;

/**
 * Every request id returned with an error appears in the log at the default level. Many failures of one kind share lines
 * (docs/decisions/0020).
 */
export function createFailureLog(log: Logger): FailureLog {
  const throttle = createLogThrottle<Failure>({ getKind: getThrottleKey, write: (group) => write(log, group) });
  return {
    log: (failure) => throttle.log(failure, failure.requestId),
    [Symbol.dispose]: () => throttle[Symbol.dispose](),
  };
}

function getThrottleKey({ route, path, method, status, code, reason, message, caller, address }: Failure): string {
  return JSON.stringify([route, path, method, status, code, reason, message, caller?.key ?? address]);
}

function write(log: Logger, { first, ids, count }: LogGroup<Failure>): void {
  const { turnId, traceparent, route, path, method, status, code, reason, message, cause, caller, address } = first;
  const level = DEFECT_CODES.has(code) ? 'error' : 'info';
  if (!log.isLevelEnabled(level)) return;
  const line = {
    ...(ids.size === 1 ? { requestId: first.requestId, traceId: parseTraceparent(traceparent)?.traceId } : { requestIds: [...ids] }),
    ...(count === 1 ? {} : { count }),
    turnId,
    route,
    path: path?.slice(0, MAX_NAME),
    method: method?.slice(0, MAX_NAME),
    status,
    code,
    reason,
    error: message.slice(0, MAX_TEXT),
    ...(caller ? { tenant: caller.principal.tenant, client: caller.principal.client } : { address }),
    ...(cause === undefined ? {} : { err: cause }),
  };
  log[level](line, 'request failed');
}

/** Codes of defects. Other errors are returned to the client unchanged. */
const DEFECT_CODES: ReadonlySet<ErrorCode> = new Set(['INTERNAL', 'UNKNOWN', 'DATA_LOSS']);

/** The details of an error that the client does not see. */
export function describeError(error: unknown): Pick<Failure, 'reason' | 'turnId' | 'cause'> {
  if (!(error instanceof Error)) return { cause: error };
  if (error instanceof RefusalError) return describeCause(error);
  if (!(error instanceof ServiceError)) return { cause: error };
  return { reason: error.details.reason, turnId: error.details.turnId, ...describeCause(error) };
}

function describeCause({ cause }: Error): Pick<Failure, 'reason' | 'turnId' | 'cause'> {
  if (cause === undefined) return {};
  return cause instanceof ServiceError ? describeError(cause) : { cause };
}

/** Logs an error that is sent as an event of a stream. */
export function logFailure({ failures }: { failures: FailureLog }, request: FastifyRequest, error: ServiceError): void {
  const { id: requestId, caller, method, routeOptions } = request;
  const { code, message } = error;
  failures.log({ requestId, route: `${method} ${routeOptions.url}`, code, message, caller, ...describeError(error) });
}
