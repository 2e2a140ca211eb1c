import type { EventName } from '@switchyard/contracts';
import type { HttpOptions } from './http-transport.ts';
import { isObject, parseJson, RpcError } from './rpc-error.ts';
import { isInterruption, readConnection, type StreamRequest } from './sse-connection.ts';
import { endpoint } from './transport.ts';
import { backoff, followSignals, pause } from './timing.ts';

export interface EventsOptions {
  signal?: AbortSignal;
  /** The id of the last event that the caller knows. */
  lastEventId?: string;
}

/**
 * `event` is one system event. `reset` means that events after the last id no longer exist, so the caller reads its state again; `reason`
 * is LOG_LOST, TOO_OLD or UNKNOWN_ID. `position` is sent on each connection and with each heartbeat, which also tells that the stream is alive.
 */
export type SystemEvent =
  | { type: 'event'; id: string | undefined; name: EventName; payload: Record<string, unknown> }
  | { type: 'reset'; id: string | undefined; reason: string | undefined }
  | { type: 'position'; id: string | undefined };

/** Streams `GET /api/events`. Interruptions and retryable errors are resumed by the last id until the signal is aborted. */
export async function* systemEvents(http: HttpOptions, closed: AbortSignal, options: EventsOptions): AsyncGenerator<SystemEvent> {
  const controller = new AbortController();
  const release = followSignals(controller, [options.signal, closed]);
  const request: StreamRequest = { ...http, address: endpoint(http.url, 'api/events'), signal: controller.signal };
  let last = options.lastEventId;
  try {
    for (let attempt = 0; ; attempt += 1) {
      try {
        for await (const { event, data, id } of readConnection(request, last)) {
          attempt = 0;
          last = id ?? last;
          yield interpret(event, data, last);
        }
      } catch (error) {
        request.signal.throwIfAborted();
        if (!isInterruption(error) && !(error instanceof RpcError && error.retryable)) throw error;
      }
      await pause(backoff(attempt, http.reconnect), request.signal);
    }
  } finally {
    release();
    controller.abort();
  }
}

function interpret(event: string, data: string, id: string | undefined): SystemEvent {
  const payload = data === '' ? undefined : parseJson(data);
  if (event === 'stream:reset') {
    const { reason } = isObject(payload) ? payload : {};
    return { type: 'reset', id, reason: typeof reason === 'string' ? reason : undefined };
  }
  return isObject(payload) ? { type: 'event', id, name: event as EventName, payload } : { type: 'position', id };
}
