import { isObject, localError, parsed, unauthenticated, type RpcError } from './rpc-error.ts';
import { createPendingMessages } from './pending-messages.ts';
import { encodeNotification, endpoint, type Transport } from './transport.ts';
import { backoff, type Reconnect } from './timing.ts';
import { createWatchdog, type Watchdog } from './watchdog.ts';

const MAX_WAITING = 1_000;
const UNAUTHORIZED = 4001;

export interface WebSocketOptions {
  url: string;
  token: string | undefined;
  /** Browsers cannot send headers with a WebSocket, so the token goes into the address there. */
  tokenIn: 'header' | 'query';
  WebSocket: typeof globalThis.WebSocket;
  reconnect: Reconnect;
  onNotification(method: string, params: unknown): void;
}

export interface WebSocketTransport extends Transport {
  /** Connects now instead of with the first call. */
  connect(): void;
}

/** `/ws`, one connection for all calls; comes back by itself until it is closed or its token refused. */
export function createWebSocketTransport(options: WebSocketOptions): WebSocketTransport {
  const pending = createPendingMessages();
  const notes: string[] = [];
  let socket: WebSocket | undefined;
  let watchdog: Watchdog | undefined;
  let attempt = 0;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let ended: RpcError | undefined;

  function connect() {
    if (socket !== undefined || retry !== undefined || ended !== undefined) return;
    const opened = openSocket(options);
    socket = opened;
    watchdog = createWatchdog(() => lost(opened, 'silence'));
    opened.addEventListener('open', flush);
    opened.addEventListener('message', ({ data }) => heard(opened, data));
    opened.addEventListener('close', ({ code }) => closed(opened, code));
    opened.addEventListener('error', () => lost(opened, 'failed'));
  }

  function flush() {
    if (socket?.readyState !== options.WebSocket.OPEN) return connect();
    const open = socket;
    pending.flush((text) => open.send(text));
    for (const note of notes.splice(0)) open.send(note);
  }

  function heard(from: WebSocket, data: unknown) {
    if (from !== socket || typeof data !== 'string') return;
    attempt = 0;
    watchdog?.heard();
    const message = parsed(data);
    for (const each of Array.isArray(message) ? message : [message]) take(each);
  }

  function take(message: unknown) {
    const { method, params } = isObject(message) ? message : {};
    if (typeof method !== 'string') return pending.settle(message);
    if (method === 'heartbeat' && isObject(params)) watchdog?.heartbeat(params['ts']);
    options.onNotification(method, params);
  }

  function closed(which: WebSocket, code: number) {
    if (which === socket && code === UNAUTHORIZED) end(unauthenticated());
    else lost(which, `close code ${code}`);
  }

  function lost(which: WebSocket, cause: string) {
    if (which !== socket) return;
    drop();
    pending.lost(new Error(`WebSocket: ${cause}`));
    retry = setTimeout(again, backoff(attempt, options.reconnect));
    attempt += 1;
  }

  function again() {
    retry = undefined;
    connect();
  }

  function drop() {
    watchdog?.stop();
    const dropped = socket;
    socket = undefined;
    dropped?.close();
  }

  function end(error: RpcError) {
    ended ??= error;
    clearTimeout(retry);
    drop();
    notes.length = 0;
    pending.failAll(error);
  }

  function admit(waiting: number) {
    if (ended) throw ended;
    if (waiting >= MAX_WAITING) throw localError('RESOURCE_EXHAUSTED', 'QUEUE_FULL', `${MAX_WAITING} calls are waiting already`, true);
  }

  return {
    connect,

    async exchange(calls, exchange) {
      admit(pending.size);
      const answers = pending.add(calls, exchange);
      flush();
      return answers;
    },

    async notify(method, params, signal) {
      signal.throwIfAborted();
      admit(notes.length);
      notes.push(encodeNotification(method, params));
      flush();
    },

    close() {
      end(localError('CANCELLED', 'CLIENT_CLOSED', 'The client was closed'));
    },
  };
}

function openSocket({ url, token, tokenIn, WebSocket }: WebSocketOptions): WebSocket {
  const address = endpoint(url, 'ws');
  address.protocol = address.protocol.replace('http', 'ws');
  if (token === undefined) return new WebSocket(address.href);
  if (tokenIn === 'header') return new WebSocket(address.href, { headers: { authorization: `Bearer ${token}` } });
  address.searchParams.set('token', token);
  return new WebSocket(address.href);
}
