import type { Dispatcher } from 'undici';
import { errorBody, type Body } from './error-body.ts';
import { NotTheProtocol } from '../errors/protocol-error.ts';
import type { Origins } from './connection-pool.ts';
import type { Endpoint } from '../providers/endpoint.ts';
import { UpstreamError } from '../errors/upstream-error.ts';

/** What is asked, and for whom. */
export interface WholeRequest {
  body: string;
  method?: 'POST' | 'DELETE';
  /** How large an answer may be. */
  maxBytes: number;
  signal: AbortSignal;
  /** Called for everything that arrives. */
  onAlive: () => void;
  traceparent?: string | undefined;
}

/** Asks for one JSON text, once the origin has room. Throws an `UpstreamError` where the upstream refuses or the way to it breaks. */
export async function askWhole(origins: Origins, endpoint: Endpoint, request: WholeRequest): Promise<string> {
  const { origin, path } = endpoint;
  const { body, method = 'POST', signal, traceparent } = request;
  const headers = traceparent === undefined ? endpoint.headers : [...endpoint.headers, 'traceparent', traceparent];
  const gate = origins.gate(origin);
  const waiting = gate.enter(signal);
  if (waiting !== undefined) await waiting;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const collecting = collect(request, { resolve, reject, onClosed: () => origins.left(origin, gate) });
  signal.addEventListener('abort', collecting.leave, { once: true });
  try {
    origins.dispatch({ origin, path, headers, method, body }, collecting.handler);
    return await promise;
  } finally {
    signal.removeEventListener('abort', collecting.leave);
  }
}

interface Outcome {
  resolve: (text: string) => void;
  reject: (error: unknown) => void;
  /** Its connection is free again. Called once. */
  onClosed: () => void;
}

interface Collecting {
  handler: Dispatcher.DispatchHandler;
  leave: () => void;
}

function collect({ maxBytes, signal, onAlive }: WholeRequest, { resolve, reject, onClosed }: Outcome): Collecting {
  const parts: Buffer[] = [];
  let bytes = 0;
  let refusal: Body | undefined;
  let begun = false;
  let controller: Dispatcher.DispatchController | undefined;
  const fail = (error: unknown): void => {
    reject(error);
    controller?.abort(new Error('left'));
  };
  const guarded = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      fail(error);
    }
  };
  return {
    leave: () => fail(signal.reason),
    handler: {
      onRequestStart(starting) {
        controller = starting;
        if (signal.aborted) fail(signal.reason);
      },
      onResponseStart(_, status, headers, statusText = '') {
        if (status < 200) return;
        begun = true;
        onAlive();
        if (status >= 300) refusal = errorBody({ status, statusText, headers });
        const { 'content-encoding': encoding = 'identity' } = headers;
        if (encoding !== 'identity') fail(new NotTheProtocol(`answered in ${String(encoding).slice(0, 100)}, which was not asked for`));
      },
      onResponseData(_, part) {
        onAlive();
        bytes += part.length;
        if (refusal !== undefined) refusal.push(part);
        else if (bytes > maxBytes) fail(new NotTheProtocol(`sent more than ${maxBytes} bytes`));
        else parts.push(part);
      },
      onResponseEnd() {
        onClosed();
        guarded(() => refusal?.end());
        resolve(Buffer.concat(parts).toString('utf8'));
      },
      onResponseError(_, error) {
        onClosed();
        guarded(() => refusal?.end()); // a refusal is one however much of it came
        reject(new UpstreamError(begun ? 'the answer broke off' : error.message, { cause: error }));
      },
    },
  };
}
