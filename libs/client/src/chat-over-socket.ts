import type { NotificationParams, Params, Result } from '@switchyard/contracts';
import type { Asker, ChatEvent, ChatOptions } from './chat.ts';
import { RpcError } from './rpc-error.ts';
import { backoff, follow, pause, type Reconnect } from './timing.ts';

/** How often a turn is followed anew without anything new being heard of it. */
const MAX_ATTEMPTS = 20;

/** What the client of the socket lends. */
export interface SocketChat {
  start: (params: Params<'agent.start'>, options: { signal: AbortSignal; idempotencyKey: string }) => Promise<Result<'agent.start'>>;
  attach: (params: Params<'agent.attach'>, options: { signal: AbortSignal }) => Promise<Result<'agent.attach'>>;
  onFrame: (listener: (said: NotificationParams<'agent.frame'>) => void) => () => void;
  cancel: Asker['cancel'];
  reconnect: Reconnect;
  closed: AbortSignal;
}

/**
 * Asks once and reads the answer as it is written, over the WebSocket of the client. The question has a key of its own, so that it is
 * asked once however often the connection breaks under it. A turn whose connection broke is followed from where it was, by the next
 * connection, at whichever gateway.
 */
export async function* chatOverSocket(client: SocketChat, message: string, options: ChatOptions): AsyncGenerator<ChatEvent> {
  const controller = new AbortController();
  const release = follow(controller, [options.signal, client.closed]);
  const { signal } = controller;
  const { agentId, sessionKey } = options;
  const asked = { message, ...(agentId === undefined ? {} : { agentId }), ...(sessionKey === undefined ? {} : { sessionKey }) };
  let turnId: string | undefined;
  let over = false;
  try {
    ({ turnId } = await client.start(asked, { signal, idempotencyKey: newKey() }));
    yield* readTurn(client, turnId, signal);
    over = true;
  } finally {
    release();
    controller.abort();
    // Whether that works or not, whoever reads has left.
    if (options.cancels === true && turnId !== undefined && !over) await client.cancel(turnId).catch(() => undefined);
  }
}

/** What a turn has said, as far as it was heard, and what of it nobody took yet. */
interface Heard {
  /** The number of the last frame. */
  last: number;
  accumulated: string;
  events: ChatEvent[];
  wake: () => void;
}

async function* readTurn(client: SocketChat, turnId: string, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  let news = Promise.withResolvers<void>();
  const heard: Heard = { last: -1, accumulated: '', events: [], wake: () => news.resolve() };
  const stop = client.onFrame((said) => {
    if (said.turnId === turnId) hear(heard, said.frame);
  });
  let over = false;
  let failure: unknown;
  const ending = attach(client, { turnId, heard, signal })
    .then((answer) => heard.events.push({ type: 'done', ...answer }))
    .catch((error: unknown) => (failure = error))
    .finally(() => {
      over = true;
      news.resolve();
    });
  try {
    for (;;) {
      yield* heard.events.splice(0);
      if (over && heard.events.length === 0) break;
      await news.promise;
      news = Promise.withResolvers();
    }
    await ending;
    if (failure !== undefined) throw failure;
  } finally {
    stop();
  }
}

function hear(heard: Heard, frame: NotificationParams<'agent.frame'>['frame']): void {
  if (frame.n <= heard.last) return;
  heard.last = frame.n;
  if (frame.type === 'delta') {
    heard.accumulated += frame.text;
    heard.events.push({ type: 'token', delta: frame.text, accumulated: heard.accumulated });
  } else if (frame.type === 'resumed') {
    heard.accumulated = frame.text;
    heard.events.push({ type: 'resumed', accumulated: frame.text });
  }
  heard.wake();
}

interface Attaching {
  turnId: string;
  heard: Heard;
  signal: AbortSignal;
}

/** The end of the turn, through as many connections as it takes. */
async function attach(client: SocketChat, { turnId, heard, signal }: Attaching) {
  for (let attempt = 0; ; attempt += 1) {
    const { last } = heard;
    try {
      return await client.attach({ turnId, ...(last < 0 ? {} : { after: last }) }, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (heard.last > last) attempt = 0;
      if (!isInterruption(error) || attempt >= MAX_ATTEMPTS) throw error;
      await pause(backoff(attempt, client.reconnect), signal);
    }
  }
}

/** The connection broke, or the gateway cannot follow the turn just now; the turn itself goes on. */
function isInterruption(error: unknown): boolean {
  return error instanceof RpcError && error.data.code === 'UNAVAILABLE' && (error.retryable || error.data.reason === 'CONNECTION_LOST');
}

function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
