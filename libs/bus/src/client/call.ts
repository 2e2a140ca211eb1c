import type { CallName, Params, Result, UnaryName } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { CallOptions } from './bus.ts';
import { decodeJson, encodeJson } from '../wire/encoding.ts';
import { cancelled, internal, timedOut } from '../wire/errors.ts';
import type { CallHead, HeaderLines } from '../wire/headers.ts';
import { collectLarge, type LargeAnswer } from '../payloads/large-payloads.ts';
import { mayHaveRun } from './retry-safety.ts';
import { resolveCallable, type Request } from './request.ts';
import { ask } from './sealed-request.ts';
import type { Wire } from './bus-context.ts';

/** For whom, and within what, a call is made. */
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
  wire: Wire,
  caller: Caller,
  name: N,
  given: { params: Params<N>; options: CallOptions },
): Promise<Result<N>> {
  return new Promise((resolve, reject) => {
    const made = prepare(wire, caller, name, given);
    const signal = signalOf(caller, given.options);
    if (signal?.aborted === true) throw cancelled(made.callable);
    const abort = () => {
      cancel();
      reject(cancelled(made.callable));
    };
    const madeAt = performance.now();
    const cancel = ask(wire, made, ({ data, large, error }) => {
      signal?.removeEventListener('abort', abort);
      if (error !== undefined) reject(error);
      else if (large === undefined) settle<N>(data, resolve, reject);
      else fetchLarge(wire, made, { large, signal, madeAt }).then((bytes) => settle<N>(bytes, resolve, reject), reject);
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** What is left of the caller's time is what the fetching of an answer may take. */
function fetchLarge(
  { transport }: Wire,
  made: Request,
  { large, signal, madeAt }: { large: LargeAnswer; signal: AbortSignal | undefined; madeAt: number },
): Promise<Uint8Array> {
  const { callable, head } = made;
  const timeUp = AbortSignal.timeout(Math.max(Math.ceil(madeAt + head.timeoutMs - performance.now()), 0));
  const until = signal === undefined ? timeUp : AbortSignal.any([signal, timeUp]);
  return collectLarge(`The answer of ${callable.name}`, large, transport.maxPayload, until).catch((error: unknown) => {
    throw timeUp.aborted ? mayHaveRun(timedOut(callable), made) : error;
  });
}

function settle<N extends UnaryName>(data: Uint8Array, resolve: (value: Result<N>) => void, reject: (error: Error) => void): void {
  try {
    resolve(decodeJson(data) as Result<N>);
  } catch (error) {
    reject(internal(error));
  }
}

/** The request as it will be sent, or the error that can be told without sending it. */
export function prepare(
  wire: Wire,
  caller: Caller,
  name: CallName,
  { params, options }: { params: unknown; options: CallOptions },
): Request {
  const callable = resolveCallable(wire, name);
  const timeoutMs = Math.min(
    callable.deadlineMs,
    options.timeoutMs ?? Infinity,
    caller.deadline === undefined ? Infinity : caller.deadline - Date.now(),
  );
  if (timeoutMs <= 0) throw timedOut(callable);
  const head: CallHead = { principal: caller.principal, requestId: options.requestId ?? caller.requestId ?? mintId('req'), timeoutMs };
  const traceparent = options.traceparent ?? caller.traceparent;
  if (traceparent !== undefined) head.traceparent = traceparent;
  if (options.key !== undefined) head.key = options.key;
  return { callable, params: encodeJson(params), head };
}

/** A call is cancelled by the caller's own signal, or by the signal of the call that the caller is answering. */
export function signalOf(caller: Caller, options: CallOptions): AbortSignal | undefined {
  if (caller.signal === undefined || options.signal === undefined) return options.signal ?? caller.signal;
  return AbortSignal.any([caller.signal, options.signal]);
}
