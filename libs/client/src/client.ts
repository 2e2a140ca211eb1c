import type { MethodName, NotificationName, NotificationParams, OpenRpcDocument, Params, Result } from '@switchyard/contracts';
import { chat, type ChatEvent, type ChatOptions } from './chat.ts';
import { chatOverSocket, type SocketChat } from './chat-over-socket.ts';
import { systemEvents, type EventsOptions, type SystemEvent } from './system-events.ts';
import { createHttpTransport } from './http-transport.ts';
import { localError, timedOut, type RpcError } from './rpc-error.ts';
import { badAnswer, type Answer, type Outgoing, type Transport } from './transport.ts';
import { RECONNECT, runWithDeadline, type Reconnect } from './timing.ts';
import { createWebSocketTransport, type WebSocketTransport } from './web-socket-transport.ts';

/** Longer than the longest deadline of the gateway, so that the gateway times out first. */
const TIMEOUT_MS = 610_000;
/** Timeout of the call that cancels a turn after its reader has stopped. */
const CANCEL_MS = 5_000;

export interface ClientOptions {
  /** The gateway's address, such as `http://127.0.0.1:4766`. */
  url: string;
  token?: string;
  /** `http` keeps no connection open; `ws` is one connection that also receives notifications. Defaults to `http`. */
  transport?: 'http' | 'ws';
  /** How a WebSocket sends the token. Defaults to `query` in browsers, which cannot set headers, else `header`. */
  tokenIn?: 'header' | 'query';
  /** Default timeout of a call. */
  timeoutMs?: number;
  reconnect?: Partial<Reconnect>;
  fetch?: typeof globalThis.fetch;
  WebSocket?: typeof globalThis.WebSocket;
}

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Allows repeating the call: it is retried until its timeout if the connection breaks. */
  idempotent?: boolean;
  /** Sent as `params.idempotencyKey` to methods that accept one. Also allows repeating the call. */
  idempotencyKey?: string;
}

/** A public method, or `rpc.discover`. */
export type CallableName = MethodName | 'rpc.discover';
export type CallParams<N extends CallableName> = N extends MethodName ? Params<N> : Record<string, never>;
export type CallResult<N extends CallableName> = N extends MethodName ? Result<N> : OpenRpcDocument;

type Arguments<N extends CallableName> =
  {} extends CallParams<N> ? [params?: CallParams<N>, options?: CallOptions] : [params: CallParams<N>, options?: CallOptions];

/** One call of a batch. */
export type BatchCall = { [N in CallableName]: { method: N; params: CallParams<N> } }[CallableName];
export type BatchAnswer<N extends CallableName> = { ok: true; result: CallResult<N> } | { ok: false; error: RpcError };

export interface Client {
  /** Calls a method. Rejects with an `RpcError`, or with the reason of the caller's signal. */
  call<N extends CallableName>(method: N, ...rest: Arguments<N>): Promise<CallResult<N>>;
  /** Sends several calls in one message. Each has its own outcome. */
  batch<const C extends readonly BatchCall[]>(
    calls: C,
    options?: Omit<CallOptions, 'idempotencyKey'>,
  ): Promise<{ [I in keyof C]: BatchAnswer<C[I]['method']> }>;
  /** Sends a call without waiting for its result or error. */
  notify<N extends CallableName>(method: N, ...rest: Arguments<N>): Promise<void>;
  /** Sends a message to an agent and streams the response. The last event is `done`. */
  chat(message: string, options?: ChatOptions): AsyncGenerator<ChatEvent>;
  /** Streams the system events of the tenant, and resumes after interruptions. */
  events(options?: EventsOptions): AsyncGenerator<SystemEvent>;
  /** Subscribes to a notification over transport `ws`. Returns a function that unsubscribes. */
  on<N extends NotificationName>(notification: N, listener: (params: NotificationParams<N>) => void): () => void;
  /** Closes the connection. Pending calls fail. */
  close(): void;
}

type Listener = (params: unknown) => void;

/** Creates a client of one gateway. It connects with the first call. */
export function createClient(options: ClientOptions): Client {
  const closing = new AbortController();
  const listeners = new Map<string, Set<Listener>>();
  const settings = applyDefaults(options);
  const socket = options.transport === 'ws' ? createSocket(settings, listeners) : undefined;
  const transport: Transport = socket ?? createHttpTransport(settings);
  const chatDeps = { http: settings, closed: closing.signal, cancel };
  let lastId = 0;

  function outgoing(method: string, params: unknown): Outgoing {
    lastId += 1;
    return { id: lastId, method, params };
  }

  async function exchange(calls: readonly Outgoing[], callOptions: CallOptions): Promise<Answer[]> {
    const repeatable = callOptions.idempotent === true || callOptions.idempotencyKey !== undefined;
    return runWithTimeout(callOptions, repeatable, (signal) => transport.exchange(calls, { signal, repeatable }));
  }

  function runWithTimeout<T>(callOptions: CallOptions, repeatable: boolean, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timeoutMs = callOptions.timeoutMs ?? settings.timeoutMs;
    return runWithDeadline(
      { timeoutMs, createTimeoutError: () => timedOut(timeoutMs, repeatable) },
      [callOptions.signal, closing.signal],
      run,
    );
  }

  /** Cancels a turn over HTTP, which also works while the client is being closed. */
  function cancel(turnId: string): Promise<unknown> {
    const calls = [outgoing('agent.cancel', { turnId })];
    return createHttpTransport(settings).exchange(calls, { signal: AbortSignal.timeout(CANCEL_MS), repeatable: true });
  }

  return {
    async call(method, ...[params, callOptions = {}]) {
      const [answer] = await exchange([outgoing(method, addIdempotencyKey(params, callOptions))], callOptions);
      if (!answer?.ok) throw answer?.error ?? badAnswer('The gateway sent no response for the call');
      return answer.result as CallResult<typeof method>;
    },

    async batch<const C extends readonly BatchCall[]>(calls: C, callOptions = {}) {
      const sent = calls.map(({ method, params }) => outgoing(method, params));
      const answers = sent.length === 0 ? [] : await exchange(sent, callOptions);
      return answers as { [I in keyof C]: BatchAnswer<C[I]['method']> };
    },

    async notify(method, ...[params, callOptions = {}]) {
      await runWithTimeout(callOptions, false, (signal) => transport.notify(method, addIdempotencyKey(params, callOptions), signal));
    },

    chat(message, callOptions = {}) {
      if (!socket) return chat(chatDeps, message, callOptions);
      const socketChat: SocketChat = {
        start: (params, options) => this.call('agent.start', params, options),
        attach: (params, options) => this.call('agent.attach', params, options),
        onFrame: (listener) => this.on('agent.frame', listener),
        cancel: chatDeps.cancel,
        reconnect: settings.reconnect,
        closed: closing.signal,
      };
      return chatOverSocket(socketChat, message, callOptions);
    },

    events(callOptions = {}) {
      return systemEvents(settings, closing.signal, callOptions);
    },

    on(notification, listener) {
      if (!socket) throw new TypeError("notifications require createClient({ transport: 'ws' })");
      const subscribed = listeners.get(notification) ?? new Set();
      listeners.set(notification, subscribed.add(listener as Listener));
      socket.connect();
      return () => subscribed.delete(listener as Listener);
    },

    close() {
      closing.abort(localError('CANCELLED', 'CLIENT_CLOSED', 'The client was closed'));
      transport.close();
    },
  };
}

function applyDefaults(options: ClientOptions) {
  return {
    url: options.url,
    token: options.token,
    tokenIn: options.tokenIn ?? (isBrowser() ? 'query' : 'header'),
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    reconnect: { ...RECONNECT, ...options.reconnect },
    fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
    WebSocket: options.WebSocket ?? globalThis.WebSocket,
  } as const;
}

/** Browser windows and workers have a global `location`; Node does not. */
function isBrowser(): boolean {
  return 'location' in globalThis;
}

function createSocket(
  settings: ReturnType<typeof applyDefaults>,
  listeners: ReadonlyMap<string, ReadonlySet<Listener>>,
): WebSocketTransport {
  return createWebSocketTransport({
    ...settings,
    onNotification(method, params) {
      for (const listener of listeners.get(method) ?? []) listener(params);
    },
  });
}

function addIdempotencyKey(params: unknown, { idempotencyKey }: CallOptions): unknown {
  return idempotencyKey === undefined ? (params ?? {}) : { ...(params as object | undefined), idempotencyKey };
}
