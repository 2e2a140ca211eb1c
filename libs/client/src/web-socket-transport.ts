import { isObject, localError, parseJson, unauthenticated, type RpcError } from './rpc-error.ts';
import { createPendingMessages } from './pending-messages.ts';
import { encodeNotification, endpoint, type Transport } from './transport.ts';
import { backoff, type Reconnect } from './timing.ts';
import { createWatchdog, type Watchdog } from './watchdog.ts';

const MAX_QUEUED = 1_000;
const UNAUTHORIZED = 4001;

export interface WebSocketOptions {
  url: string;
  token: string | undefined;
  /** Browsers cannot set WebSocket headers, so they send the token in the query string. */
  tokenIn: 'header' | 'query';
  WebSocket: typeof globalThis.WebSocket;
  reconnect: Reconnect;
  onNotification(method: string, params: unknown): void;
}

export interface WebSocketTransport extends Transport {
  /** Connects before the first call. */
  connect(): void;
}

/** Creates the transport over `/ws`, one connection for all calls. It reconnects until it is closed or its token is rejected. */
export function createWebSocketTransport(options: WebSocketOptions): WebSocketTransport {
  const pending = createPendingMessages();
  const notifications: string[] = [];
  let socket: WebSocket | undefined;
  let watchdog: Watchdog | undefined;
  let attempt = 0;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let ended: RpcError | undefined;

  function connect() {
    if (socket !== undefined || retry !== undefined || ended !== undefined) return;
    const opened = openSocket(options);
    socket = opened;
    watchdog = createWatchdog(() => reconnectAfter(opened, 'silence'));
    opened.addEventListener('open', flush);
    opened.addEventListener('message', ({ data }) => handleMessage(opened, data));
    opened.addEventListener('close', ({ code }) => handleClose(opened, code));
    opened.addEventListener('error', () => reconnectAfter(opened, 'failed'));
  }

  function flush() {
    if (socket?.readyState !== options.WebSocket.OPEN) return connect();
    const open = socket;
    pending.flush((text) => open.send(text));
    for (const notification of notifications.splice(0)) open.send(notification);
  }

  function handleMessage(from: WebSocket, data: unknown) {
    if (from !== socket || typeof data !== 'string') return;
    attempt = 0;
    watchdog?.reset();
    const message = parseJson(data);
    for (const each of Array.isArray(message) ? message : [message]) dispatch(each);
  }

  function dispatch(message: unknown) {
    const { method, params } = isObject(message) ? message : {};
    if (typeof method !== 'string') return pending.settle(message);
    if (method === 'heartbeat' && isObject(params)) watchdog?.heartbeat(params['ts']);
    options.onNotification(method, params);
  }

  function handleClose(which: WebSocket, code: number) {
    if (which === socket && code === UNAUTHORIZED) end(unauthenticated());
    else reconnectAfter(which, `close code ${code}`);
  }

  function reconnectAfter(which: WebSocket, cause: string) {
    if (which !== socket) return;
    drop();
    pending.handleDisconnect(new Error(`WebSocket: ${cause}`));
    retry = setTimeout(retryConnect, backoff(attempt, options.reconnect));
    attempt += 1;
  }

  function retryConnect() {
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
    notifications.length = 0;
    pending.failAll(error);
  }

  function rejectIfUnavailable(waiting: number) {
    if (ended) throw ended;
    if (waiting >= MAX_QUEUED)
      throw localError('RESOURCE_EXHAUSTED', 'QUEUE_FULL', `The queue is full: ${MAX_QUEUED} calls are waiting for a connection`, true);
  }

  return {
    connect,

    async exchange(calls, exchange) {
      rejectIfUnavailable(pending.size);
      const answers = pending.add(calls, exchange);
      flush();
      return answers;
    },

    async notify(method, params, signal) {
      signal.throwIfAborted();
      rejectIfUnavailable(notifications.length);
      notifications.push(encodeNotification(method, params));
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
  if (tokenIn === 'header') {
    // The types of browsers lack the options of Node's WebSocket.
    const Socket = WebSocket as unknown as new (url: string, options: { headers: Record<string, string> }) => WebSocket;
    return new Socket(address.href, { headers: { authorization: `Bearer ${token}` } });
  }
  address.searchParams.set('token', token);
  return new WebSocket(address.href);
}
