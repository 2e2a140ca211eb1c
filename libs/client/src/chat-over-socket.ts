import type { NotificationParams, Params, Result } from '@switchyard/contracts';
import type { ChatDeps, ChatEvent, ChatOptions } from './chat.ts';
import { RpcError } from './rpc-error.ts';
import { backoff, followSignals, pause, type Reconnect } from './timing.ts';

/** Attach attempts without a new frame. */
const MAX_ATTEMPTS = 20;

/** Dependencies of a chat over the WebSocket. */
export interface SocketChat {
  start: (params: Params<'agent.start'>, options: { signal: AbortSignal; idempotencyKey: string }) => Promise<Result<'agent.start'>>;
  attach: (params: Params<'agent.attach'>, options: { signal: AbortSignal }) => Promise<Result<'agent.attach'>>;
  onFrame: (listener: (notification: NotificationParams<'agent.frame'>) => void) => () => void;
  cancel: ChatDeps['cancel'];
  reconnect: Reconnect;
  closed: AbortSignal;
}

/**
 * Starts a turn over the client's WebSocket and streams the response. The message has an idempotency key, so a broken connection
 * starts no second turn. After a broken connection the next one, to any gateway, attaches to the turn after the last received frame.
 */
export async function* chatOverSocket(client: SocketChat, message: string, options: ChatOptions): AsyncGenerator<ChatEvent> {
  const controller = new AbortController();
  const release = followSignals(controller, [options.signal, client.closed]);
  const { signal } = controller;
  const { agentId, sessionKey } = options;
  const params = { message, ...(agentId === undefined ? {} : { agentId }), ...(sessionKey === undefined ? {} : { sessionKey }) };
  let turnId: string | undefined;
  let over = false;
  try {
    ({ turnId } = await client.start(params, { signal, idempotencyKey: createIdempotencyKey() }));
    yield* readTurn(client, turnId, signal);
    over = true;
  } finally {
    release();
    controller.abort();
    // The reader has stopped, so a failure to cancel is ignored.
    if (options.cancels === true && turnId !== undefined && !over) await client.cancel(turnId).catch(() => undefined);
  }
}

/** The received text of a turn and the events that were not consumed yet. */
interface ReceivedTurn {
  /** The number of the last received frame. */
  last: number;
  accumulated: string;
  events: ChatEvent[];
  wake: () => void;
}

async function* readTurn(client: SocketChat, turnId: string, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  let wakeup = Promise.withResolvers<void>();
  const received: ReceivedTurn = { last: -1, accumulated: '', events: [], wake: () => wakeup.resolve() };
  const stop = client.onFrame((notification) => {
    if (notification.turnId === turnId) applyFrame(received, notification.frame);
  });
  let over = false;
  let failure: unknown;
  const ending = attach(client, { turnId, received, signal })
    .then((answer) => received.events.push({ type: 'done', ...answer }))
    .catch((error: unknown) => (failure = error))
    .finally(() => {
      over = true;
      wakeup.resolve();
    });
  try {
    for (;;) {
      yield* received.events.splice(0);
      if (over && received.events.length === 0) break;
      await wakeup.promise;
      wakeup = Promise.withResolvers();
    }
    await ending;
    if (failure !== undefined) throw failure;
  } finally {
    stop();
  }
}

function applyFrame(received: ReceivedTurn, frame: NotificationParams<'agent.frame'>['frame']): void {
  if (frame.n <= received.last) return;
  received.last = frame.n;
  if (frame.type === 'delta') {
    received.accumulated += frame.text;
    received.events.push({ type: 'token', delta: frame.text, accumulated: received.accumulated });
  } else if (frame.type === 'resumed') {
    received.accumulated = frame.text;
    received.events.push({ type: 'resumed', accumulated: frame.text });
  }
  received.wake();
}

interface AttachOptions {
  turnId: string;
  received: ReceivedTurn;
  signal: AbortSignal;
}

/** Waits for the end of the turn. Attaches again after each broken connection. */
async function attach(client: SocketChat, { turnId, received, signal }: AttachOptions) {
  for (let attempt = 0; ; attempt += 1) {
    const { last } = received;
    try {
      return await client.attach({ turnId, ...(last < 0 ? {} : { after: last }) }, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (received.last > last) attempt = 0;
      if (!isInterruption(error) || attempt >= MAX_ATTEMPTS) throw error;
      await pause(backoff(attempt, client.reconnect), signal);
    }
  }
}

/** Returns whether the connection broke or the gateway is temporarily unavailable. The turn itself continues. */
function isInterruption(error: unknown): boolean {
  return error instanceof RpcError && error.data.code === 'UNAVAILABLE' && (error.retryable || error.data.reason === 'CONNECTION_LOST');
}

function createIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
