import { connectionLost, fromResponse, parseJson, RpcError } from './rpc-error.ts';
import {
  badAnswer,
  decodeAnswer,
  encode,
  encodeNotification,
  endpoint,
  type Answer,
  type ExchangeOptions,
  type Outgoing,
  type Transport,
} from './transport.ts';
import { backoff, pause, type Reconnect } from './timing.ts';

export interface HttpOptions {
  url: string;
  token: string | undefined;
  fetch: typeof globalThis.fetch;
  reconnect: Reconnect;
}

/** Creates the transport over `POST /rpc`, one request per call. */
export function createHttpTransport({ url, token, fetch, reconnect }: HttpOptions): Transport {
  const address = endpoint(url, 'rpc');
  const headers = { 'content-type': 'application/json', accept: 'application/json', ...bearer(token) };

  async function post(body: string, { signal, repeatable }: ExchangeOptions): Promise<Response> {
    const response = await fetch(address, { method: 'POST', headers, body, signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw connectionLost(error, repeatable);
    });
    if (!response.ok) throw await fromResponse(response, repeatable);
    return response;
  }

  async function exchangeOnce(calls: readonly Outgoing[], options: ExchangeOptions): Promise<Answer[]> {
    const { signal, repeatable } = options;
    const response = await post(encode(calls), options);
    const text = await response.text().catch((error: unknown) => {
      signal.throwIfAborted();
      throw connectionLost(error, repeatable);
    });
    return matchAnswers(calls, parseJson(text));
  }

  return {
    async exchange(calls, options) {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await exchangeOnce(calls, options);
        } catch (error) {
          if (!options.repeatable || !isUnavailable(error)) throw error;
          await pause(backoff(attempt, reconnect), options.signal);
        }
      }
    },

    async notify(method, params, signal) {
      await post(encodeNotification(method, params), { signal, repeatable: false });
    },

    close() {
      // No connection is kept open between calls. Pending calls end with the client's signal.
    },
  };
}

export function bearer(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

function isUnavailable(error: unknown): boolean {
  return error instanceof RpcError && error.data.code === 'UNAVAILABLE' && error.retryable;
}

/** Matches answers to calls by id. An error with id null applies to all calls of the request. */
function matchAnswers(calls: readonly Outgoing[], body: unknown): Answer[] {
  const answers = new Map((Array.isArray(body) ? body : [body]).flatMap(decodeEntry));
  return calls.map(
    ({ id }) => answers.get(id) ?? answers.get(null) ?? { ok: false, error: badAnswer('The gateway sent no response for the call') },
  );
}

function decodeEntry(message: unknown): [unknown, Answer][] {
  const decoded = decodeAnswer(message);
  return decoded ? [[decoded.id, decoded.answer]] : [];
}
