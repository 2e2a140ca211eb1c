import { ServiceError, subjects, type Callable, type CallName, type Params, type Result, type UnaryName } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { CallOptions } from './bus.ts';
import { decodeJson, encodeJson } from '../wire/encoding.ts';
import { cancelledError, internalError, deadlineExceededError } from '../wire/errors.ts';
import type { CallHead, HeaderLines } from '../wire/headers.ts';
import { collectPayload, type LargePayload } from '../payloads/large-payloads.ts';
import { markOutcomeUnknown } from './retry-safety.ts';
import { resolveCallable, type Request } from './request.ts';
import { sendRequest } from './sealed-request.ts';
import type { BusContext } from './bus-context.ts';

/** Identity and limits of the process that makes a call. */
export interface Caller {
  /** From `encodePrincipal`. */
  principal: HeaderLines;
  requestId?: string;
  traceparent?: string | undefined;
  /** Epoch milliseconds. */
  deadline?: number;
  signal?: AbortSignal;
}

export function call<N extends UnaryName>(
  context: BusContext,
  caller: Caller,
  name: N,
  input: { params: Params<N>; options: CallOptions },
): Promise<Result<N>> {
  return new Promise((resolve, reject) => {
    const request = prepareRequest(context, caller, name, input);
    const signal = combineSignals(caller, input.options);
    if (signal?.aborted === true) throw cancelledError(request.callable);
    const abort = () => {
      cancel();
      reject(cancelledError(request.callable));
    };
    const startedAt = performance.now();
    const cancel = sendRequest(context, request, ({ data, large, error }) => {
      signal?.removeEventListener('abort', abort);
      if (error !== undefined) reject(error);
      else if (large === undefined) resolveWithJson<N>(data, resolve, reject);
      else
        fetchLargeResult(context, request, { large, signal, startedAt }).then(
          (bytes) => resolveWithJson<N>(bytes, resolve, reject),
          reject,
        );
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Fetches a large result within the remaining time of the call. */
function fetchLargeResult(
  { transport }: BusContext,
  request: Request,
  { large, signal, startedAt }: { large: LargePayload; signal: AbortSignal | undefined; startedAt: number },
): Promise<Uint8Array> {
  const { callable, head } = request;
  const timeUp = AbortSignal.timeout(Math.max(Math.ceil(startedAt + head.timeoutMs - performance.now()), 0));
  const until = signal === undefined ? timeUp : AbortSignal.any([signal, timeUp]);
  return collectPayload(`The result of ${callable.name}`, large, transport.maxPayload, until).catch((error: unknown) => {
    throw timeUp.aborted ? markOutcomeUnknown(deadlineExceededError(callable), request) : error;
  });
}

function resolveWithJson<N extends UnaryName>(data: Uint8Array, resolve: (value: Result<N>) => void, reject: (error: Error) => void): void {
  try {
    resolve(decodeJson(data) as Result<N>);
  } catch (error) {
    reject(internalError(error));
  }
}

/** Builds a request. Throws errors that are known before sending. */
export function prepareRequest(
  context: BusContext,
  caller: Caller,
  name: CallName,
  { params, options }: { params: unknown; options: CallOptions },
): Request {
  const callable = addressReplica(resolveCallable(context, name), options.replica);
  const timeoutMs = Math.min(
    callable.deadlineMs,
    options.timeoutMs ?? Infinity,
    caller.deadline === undefined ? Infinity : caller.deadline - Date.now(),
  );
  if (timeoutMs <= 0) throw deadlineExceededError(callable);
  const head: CallHead = { principal: caller.principal, requestId: options.requestId ?? caller.requestId ?? mintId('req'), timeoutMs };
  const traceparent = options.traceparent ?? caller.traceparent;
  if (traceparent !== undefined) head.traceparent = traceparent;
  if (options.key !== undefined) head.key = options.key;
  return { callable, params: encodeJson(params), head };
}

/** Returns the callable with the subject of one replica. Public methods have no such subject, because clients know no replicas. */
function addressReplica(callable: Callable, replica: string | undefined): Callable {
  if (replica === undefined) return callable;
  const { kind, name, service } = callable;
  if (kind === 'operation') return { ...callable, subject: subjects.ownOperation(service, replica, name) };
  throw new ServiceError('INVALID_ARGUMENT', `${name} is a public method; only operations can be called on one replica.`);
}

/** Combines the caller's own signal with the signal of the call that the caller is handling. */
export function combineSignals(caller: Caller, options: CallOptions): AbortSignal | undefined {
  if (caller.signal === undefined || options.signal === undefined) return options.signal ?? caller.signal;
  return AbortSignal.any([caller.signal, options.signal]);
}
