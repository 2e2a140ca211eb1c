import { readEvents, type ServerEvent } from './event-stream.ts';
import { bearer, type HttpOptions } from './http-transport.ts';
import { connectionLost, fromResponse, localError, RpcError } from './rpc-error.ts';
import { badAnswer } from './transport.ts';
import { followSignals } from './timing.ts';

/** The gateway sends a heartbeat at least every 15 s. A connection without data for three intervals is dead. */
const SILENCE_TIMEOUT_MS = 45_000;

export interface StreamRequest extends HttpOptions {
  address: URL;
  signal: AbortSignal;
}

/** Reads the events of one connection, after the event with the id `last`. The gateway responds with 204 when the turn has ended. */
export async function* readConnection(request: StreamRequest, last: string | undefined): AsyncGenerator<ServerEvent> {
  const { address, fetch, token, signal } = request;
  const connection = new AbortController();
  const release = followSignals(connection, [signal]);
  try {
    const headers = { accept: 'text/event-stream', ...bearer(token), ...(last === undefined ? {} : { 'last-event-id': last }) };
    const response = await withSilenceTimeout(fetch(address, { headers, signal: connection.signal, cache: 'no-store' }), connection);
    if (response.status === 204)
      throw localError('NOT_FOUND', 'STREAM_ENDED', 'The turn has ended; read its response from the session history');
    if (!response.ok || response.body === null) throw await toError(response, last !== undefined);
    yield* readEvents(readChunks(response.body, connection));
  } catch (error) {
    if (error instanceof RpcError) throw error;
    throw error instanceof RangeError ? badAnswer(error.message) : connectionLost(error);
  } finally {
    release();
    connection.abort();
  }
}

export function isInterruption(error: unknown): boolean {
  return error instanceof RpcError && error.data.reason === 'CONNECTION_LOST';
}

/** Converts an error response. A retryable error of a resumed stream is treated as a lost connection. */
async function toError(response: Response, resuming: boolean): Promise<RpcError> {
  const error = await fromResponse(response, resuming);
  return resuming && error.retryable ? connectionLost(error) : error;
}

async function* readChunks(body: ReadableStream<Uint8Array>, connection: AbortController): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await withSilenceTimeout(reader.read(), connection);
    if (done) return;
    yield value;
  }
}

/** Aborts the connection if the promise does not settle within the silence timeout. */
async function withSilenceTimeout<T>(awaited: Promise<T>, connection: AbortController): Promise<T> {
  const timer = setTimeout(() => connection.abort(connectionLost(new Error('silence'))), SILENCE_TIMEOUT_MS);
  return awaited.finally(() => clearTimeout(timer));
}
