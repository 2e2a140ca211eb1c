import type { Dispatcher } from 'undici';
import { createErrorBody, type Body } from './error-body.ts';
import { convertDecodingError } from './content-encoding.ts';
import { ProtocolError } from '../errors/protocol-error.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { Endpoint } from '../providers/endpoint.ts';
import { UpstreamError } from '../errors/upstream-error.ts';

/** A request for a text response. */
export interface TextRequest {
  body: string;
  method?: 'POST' | 'DELETE';
  /** Maximum size of the response. */
  maxBytes: number;
  signal: AbortSignal;
  /** Called for all received data. */
  onAlive: () => void;
  traceparent?: string | undefined;
}

/** Sends a request and returns the response text. Waits for a free slot of the origin. Throws an `UpstreamError` on failure. */
export async function requestText(origins: ConnectionPool, endpoint: Endpoint, request: TextRequest): Promise<string> {
  const { origin, path } = endpoint;
  const { body, method = 'POST', signal, traceparent } = request;
  const headers = traceparent === undefined ? endpoint.headers : [...endpoint.headers, 'traceparent', traceparent];
  const limit = origins.getLimit(origin);
  const waiting = limit.acquire(signal);
  if (waiting !== undefined) await waiting;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const textHandler = createTextHandler(request, { resolve, reject, onClosed: () => origins.release(origin, limit) });
  signal.addEventListener('abort', textHandler.leave, { once: true });
  try {
    origins.dispatch({ origin, path, headers, method, body }, textHandler.handler);
    return await promise;
  } finally {
    signal.removeEventListener('abort', textHandler.leave);
  }
}

interface TextHandlerCallbacks {
  resolve: (text: string) => void;
  reject: (error: unknown) => void;
  /** Called once when the connection is free. */
  onClosed: () => void;
}

interface TextHandler {
  handler: Dispatcher.DispatchHandler;
  leave: () => void;
}

function createTextHandler({ maxBytes, signal, onAlive }: TextRequest, { resolve, reject, onClosed }: TextHandlerCallbacks): TextHandler {
  const parts: Buffer[] = [];
  let bytes = 0;
  let errorBodyReader: Body | undefined;
  let started = false;
  let controller: Dispatcher.DispatchController | undefined;
  const fail = (error: unknown): void => {
    reject(error);
    controller?.abort(new Error('left'));
  };
  const failOnError = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      fail(error);
    }
  };
  return {
    leave: () => fail(signal.reason),
    handler: {
      onRequestStart(requestController) {
        controller = requestController;
        if (signal.aborted) fail(signal.reason);
      },
      onResponseStart(_, status, headers, statusText = '') {
        if (status < 200) return;
        started = true;
        onAlive();
        if (status >= 300) errorBodyReader = createErrorBody({ status, statusText, headers });
        const { 'content-encoding': encoding = 'identity' } = headers;
        if (encoding !== 'identity') fail(new ProtocolError(`responded with the unsupported encoding ${String(encoding).slice(0, 100)}`));
      },
      onResponseData(_, part) {
        onAlive();
        bytes += part.length;
        if (errorBodyReader !== undefined) errorBodyReader.push(part);
        else if (bytes > maxBytes) fail(new ProtocolError(`sent more than ${maxBytes} bytes`));
        else parts.push(part);
      },
      onResponseEnd() {
        onClosed();
        failOnError(() => errorBodyReader?.end());
        resolve(Buffer.concat(parts).toString('utf8'));
      },
      onResponseError(_, error) {
        onClosed();
        failOnError(() => errorBodyReader?.end()); // an incomplete error body is sufficient
        reject(
          convertDecodingError(error) ?? new UpstreamError(started ? 'the response was interrupted' : error.message, { cause: error }),
        );
      },
    },
  };
}
