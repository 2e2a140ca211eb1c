import type { MethodName, NotificationName, NotificationParams, OpenRpcDocument, Params, Result } from '@switchyard/contracts';
import { chat, type ChatEvent, type ChatOptions } from './chat.ts';
import { chatOverSocket, type SocketChat } from './chat-over-socket.ts';
import { createHttpTransport } from './http-transport.ts';
import { localError, timedOut, type RpcError } from './rpc-error.ts';
import { badAnswer, type Answer, type Outgoing, type Transport } from './transport.ts';
import { RECONNECT, underDeadline, type Reconnect } from './timing.ts';
import { createWebSocketTransport, type WebSocketTransport } from './web-socket-transport.ts';

/** A little longer than the longest deadline of the gateway, which therefore answers first. */
const TIMEOUT_MS = 610_000;
/** Whoever stops reading does not wait for longer until the turn is ended. */
const CANCEL_MS = 5_000;

export interface ClientOptions {
  /** Where the gateway is: `http://127.0.0.1:4766`. */
  url: string;
  token?: string;
  /** `http` keeps nothing open; `ws` is one connection that also hears notifications. Defaults to `http`. */
  transport?: 'http' | 'ws';
  /** Where a WebSocket carries the token. Defaults to `query` in browsers, which cannot do otherwise, else `header`. */
  tokenIn?: 'header' | 'query';
  /** How long a call waits when it does not say. */
  timeoutMs?: number;
  reconnect?: Partial<Reconnect>;
  fetch?: typeof globalThis.fetch;
  WebSocket?: typeof globalThis.WebSocket;
}

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  /** The call may be made twice: it is repeated until its time is up when the connection breaks under it. */
  idempotent?: boolean;
  /** Sent as `params.idempotencyKey`, for the methods that take one; makes the call repeatable too. */
  idempotencyKey?: string;
}

/** Every public method, and the document that describes them. */
export type CallableName = MethodName | 'rpc.discover';
export type CallParams<N extends CallableName> = N extends MethodName ? Params<N> : Record<string, never>;
export type CallResult<N extends CallableName> = N extends MethodName ? Result<N> : OpenRpcDocument;

type Arguments<N extends CallableName> =
  {} extends CallParams<N> ? [params?: CallParams<N>, options?: CallOptions] : [params: CallParams<N>, options?: CallOptions];

/** One call of a batch. */
export type BatchCall = { [N in CallableName]: { method: N; params: CallParams<N> } }[CallableName];
export type BatchAnswer<N extends CallableName> = { ok: true; result: CallResult<N> } | { ok: false; error: RpcError };

export interface Client {
  /** Rejects with an `RpcError`, or with the reason of the caller's signal. */
  call<N extends CallableName>(method: N, ...rest: Arguments<N>): Promise<CallResult<N>>;
  /** Several calls in one message; each has its own outcome. */
  batch<const C extends readonly BatchCall[]>(
    calls: C,
    options?: Omit<CallOptions, 'idempotencyKey'>,
  ): Promise<{ [I in keyof C]: BatchAnswer<C[I]['method']> }>;
  /** Makes a call and waits for no answer, not even for an error. */
  notify<N extends CallableName>(method: N, ...rest: Arguments<N>): Promise<void>;
  /** Asks an agent and gives its answer as it is written; the last event is `done`. */
  chat(message: string, options?: ChatOptions): AsyncGenerator<ChatEvent>;
  /** Hears a notification, over transport `ws`; returns a function that stops it. */
  on<N extends NotificationName>(notification: N, listener: (params: NotificationParams<N>) => void): () => void;
  /** Ends the connection; what is under way fails. */
  close(): void;
}

type Listener = (params: unknown) => void;

/** A client of one gateway. Nothing is connected before the first call. */
export function createClient(options: ClientOptions): Client {
  const closing = new AbortController();
  const listeners = new Map<string, Set<Listener>>();
  const settings = complete(options);
  const socket = options.transport === 'ws' ? openLazily(settings, listeners) : undefined;
  const transport: Transport = socket ?? createHttpTransport(settings);
  const asker = { http: settings, closed: closing.signal, cancel };
  let lastId = 0;

  function outgoing(method: string, params: unknown): Outgoing {
    lastId += 1;
    return { id: lastId, method, params };
  }

  async function exchange(calls: readonly Outgoing[], asked: CallOptions): Promise<Answer[]> {
    const repeatable = asked.idempotent === true || asked.idempotencyKey !== undefined;
    return inTime(asked, repeatable, (signal) => transport.exchange(calls, { signal, repeatable }));
  }

  function inTime<T>(asked: CallOptions, repeatable: boolean, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timeoutMs = asked.timeoutMs ?? settings.timeoutMs;
    return underDeadline({ timeoutMs, late: () => timedOut(timeoutMs, repeatable) }, [asked.signal, closing.signal], run);
  }

  /** Over HTTP, as the question was asked, so that a client that is being closed can still do it. */
  function cancel(turnId: string): Promise<unknown> {
    const calls = [outgoing('agent.cancel', { turnId })];
    return createHttpTransport(settings).exchange(calls, { signal: AbortSignal.timeout(CANCEL_MS), repeatable: true });
  }

  return {
    async call(method, ...[params, asked = {}]) {
      const [answer] = await exchange([outgoing(method, withKey(params, asked))], asked);
      if (!answer?.ok) throw answer?.error ?? badAnswer('The gateway left the call unanswered');
      return answer.result as CallResult<typeof method>;
    },

    async batch<const C extends readonly BatchCall[]>(calls: C, asked = {}) {
      const sent = calls.map(({ method, params }) => outgoing(method, params));
      const answers = sent.length === 0 ? [] : await exchange(sent, asked);
      return answers as { [I in keyof C]: BatchAnswer<C[I]['method']> };
    },

    async notify(method, ...[params, asked = {}]) {
      await inTime(asked, false, (signal) => transport.notify(method, withKey(params, asked), signal));
    },

    chat(message, asked = {}) {
      if (!socket) return chat(asker, message, asked);
      const lent: SocketChat = {
        start: (params, options) => this.call('agent.start', params, options),
        attach: (params, options) => this.call('agent.attach', params, options),
        onFrame: (listener) => this.on('agent.frame', listener),
        cancel: asker.cancel,
        reconnect: settings.reconnect,
        closed: closing.signal,
      };
      return chatOverSocket(lent, message, asked);
    },

    on(notification, listener) {
      if (!socket) throw new TypeError("notifications need createClient({ transport: 'ws' })");
      const heard = listeners.get(notification) ?? new Set();
      listeners.set(notification, heard.add(listener as Listener));
      socket.connect();
      return () => heard.delete(listener as Listener);
    },

    close() {
      closing.abort(localError('CANCELLED', 'CLIENT_CLOSED', 'The client was closed'));
      transport.close();
    },
  };
}

function complete(options: ClientOptions) {
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

/** Windows and workers of browsers alike have a location; servers have none. */
function isBrowser(): boolean {
  return 'location' in globalThis;
}

function openLazily(settings: ReturnType<typeof complete>, listeners: ReadonlyMap<string, ReadonlySet<Listener>>): WebSocketTransport {
  return createWebSocketTransport({
    ...settings,
    onNotification(method, params) {
      for (const listener of listeners.get(method) ?? []) listener(params);
    },
  });
}

function withKey(params: unknown, { idempotencyKey }: CallOptions): unknown {
  return idempotencyKey === undefined ? (params ?? {}) : { ...(params as object | undefined), idempotencyKey };
}
