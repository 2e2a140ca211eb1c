import { createClient, type Client } from '@switchyard/client';
import { EventSource } from 'eventsource';
import type { ChaosCluster } from '../cluster.ts';
import type { RequestParams, StreamEvent, Told, Trying } from '../history.ts';
import { asFailure, HttpFailure } from './outcome.ts';

/** A client retries when there is no answer or first event within this time. */
const ATTEMPT_MS = 10_000;
/** Time limit for the last event. */
const STREAM_MS = 40_000;

/** The APIs through which a client requests a turn. */
export interface Doors extends Disposable {
  turn(request: RequestParams['turn'], trying: Trying<'turn'>): Promise<Told['turn']>;
  call: Client['call'];
}

export function openDoors({ url, token }: Pick<ChaosCluster, 'url' | 'token'>): Doors {
  const http = createClient({ url, token, timeoutMs: ATTEMPT_MS });
  const socket = createClient({ url, token, transport: 'ws', timeoutMs: ATTEMPT_MS });

  async function execute(client: Client, { message, session, agent, key }: RequestParams['turn']): Promise<Told['turn']> {
    const params = { message, sessionKey: { channelId: session }, ...(agent === 'default' ? {} : { agentId: agent }) };
    const { response } = await client.call('agent.execute', params, key === undefined ? {} : { idempotencyKey: key });
    return { response };
  }

  return {
    turn(asked, trying) {
      if (asked.door === 'chat') return chat(url, token, asked);
      if (asked.door === 'sse') return listen(streamUrl(url, token, asked), trying);
      return execute(asked.door === 'ws' ? socket : http, asked);
    },
    call: http.call,
    [Symbol.dispose]() {
      http.close();
      socket.close();
    },
  };
}

async function chat(url: string, token: string, { message, session, agent, key }: RequestParams['turn']): Promise<Told['turn']> {
  const answer = await fetch(`${url}/api/chat`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify({ message, sessionKey: session, ...(agent === 'default' ? {} : { agentId: agent }) }),
    signal: AbortSignal.timeout(ATTEMPT_MS),
  });
  const body = (await answer.json()) as { response: string };
  if (!answer.ok) throw new HttpFailure({ code: REFUSED[answer.status] ?? 'LOST', reason: `${answer.status}` });
  return { response: body.response };
}

/** Rejections that REST can express. */
const REFUSED: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  422: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
};

function streamUrl(url: string, token: string, { message, session, agent, key }: RequestParams['turn']): string {
  const query = new URLSearchParams({ message, sessionKey: session, token });
  if (agent !== 'default') query.set('agentId', agent);
  if (key !== undefined) query.set('idempotencyKey', key);
  return `${url}/api/chat/stream?${query.toString()}`;
}

/** Reads a stream with an EventSource, which reconnects, and records every event. */
function listen(url: string, trying: Trying<'turn'>): Promise<Told['turn']> {
  const { promise, resolve, reject } = Promise.withResolvers<Told['turn']>();
  const source = new EventSource(url);
  const silent = setTimeout(() => reject(new Error('no event within the time')), ATTEMPT_MS);
  const late = setTimeout(() => reject(new Error('no end within the time')), STREAM_MS);
  const onMessage = (name: string, event: MessageEvent): void => {
    clearTimeout(silent);
    const { delta, accumulated, response, ...rest } = JSON.parse(String(event.data)) as Partial<StreamEvent> & { data?: unknown };
    const said = { ...(delta === undefined ? {} : { delta }), ...(accumulated === undefined ? {} : { accumulated }) };
    trying.heard({ id: event.lastEventId, name, ...said, ...(response === undefined ? {} : { response }) });
    if (name === 'done') resolve({ response: String(response) });
    if (name === 'error') reject(new HttpFailure(asFailure(rest.data ?? rest)));
  };
  for (const name of ['token', 'resumed', 'done'] as const) source.addEventListener(name, (event) => onMessage(name, event));
  source.addEventListener('error', (event) => {
    if (event instanceof MessageEvent) onMessage('error', event);
    else if (source.readyState === EventSource.CLOSED)
      reject(new Error(`it stopped coming back: ${event.code ?? ''} ${event.message ?? ''}`));
  });
  return promise.finally(() => {
    clearTimeout(silent);
    clearTimeout(late);
    source.close();
  });
}
