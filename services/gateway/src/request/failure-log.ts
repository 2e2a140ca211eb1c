import { ServiceError, type ErrorCode } from '@switchyard/contracts';
import { createFlood, parseTraceparent, type Logger, type Together } from '@switchyard/telemetry';
import type { FastifyRequest } from 'fastify';
import type { Caller } from './caller.ts';
import { RefusalError } from './refusal.ts';

/** An error that a client was shown, under the ids it was shown with. */
export interface Failure {
  requestId: string;
  turnId?: string | undefined;
  /** The caller's trace, where it sent one. */
  traceparent?: string | undefined;
  route: string;
  /** What was called over it, as the client wrote it. */
  method?: string | undefined;
  /** Where no route is. */
  path?: string | undefined;
  /** Of HTTP, where the failure has one. */
  status?: number;
  code: ErrorCode;
  reason?: string | undefined;
  message: string;
  /** What stood behind it. */
  cause?: unknown;
  caller?: Caller | undefined;
  /** Where it came from, when nobody knows from whom. */
  address?: string | undefined;
}

/** Writes down every error that the edge shows to a client. */
export interface FailureLog extends Disposable {
  note(failure: Failure): void;
}

const MAX_TEXT = 500;
const MAX_NAME = 100;

/**
 * Any id that was shown with an error is found at the default level. A flood of refusals costs what its ids cost: it is written
 * together, and its lines are few (docs/decisions/0020).
 */
export function createFailureLog(log: Logger): FailureLog {
  const flood = createFlood<Failure>({ kindOf, write: (together) => write(log, together) });
  return {
    note: (failure) => flood.note(failure, failure.requestId),
    [Symbol.dispose]: () => flood[Symbol.dispose](),
  };
}

function kindOf({ route, path, method, status, code, reason, message, caller, address }: Failure): string {
  return JSON.stringify([route, path, method, status, code, reason, message, caller?.key ?? address]);
}

function write(log: Logger, { first, ids, count }: Together<Failure>): void {
  const { turnId, traceparent, route, path, method, status, code, reason, message, cause, caller, address } = first;
  const level = OURS.has(code) ? 'error' : 'info';
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

/** Defects, where everything else is said to the client as it is. */
const OURS: ReadonlySet<ErrorCode> = new Set(['INTERNAL', 'UNKNOWN', 'DATA_LOSS']);

/** What is worth writing of an error that a client sees only a part of. */
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

/** Writes down an error that a stream tells, which begins after its request was answered. */
export function noteFailure({ failures }: { failures: FailureLog }, request: FastifyRequest, error: ServiceError): void {
  const { id: requestId, caller, method, routeOptions } = request;
  const { code, message } = error;
  failures.note({ requestId, route: `${method} ${routeOptions.url}`, code, message, caller, ...describeError(error) });
}
