import assert from 'node:assert/strict';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Running } from './embedded.ts';

/** A JSON-RPC response. */
export interface Answer {
  jsonrpc: string;
  id?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: Record<string, unknown> };
}

export const TRANSPORTS = ['http', 'ws'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** A client over one transport. Checks each response for the common rules. */
export interface Exchange extends AsyncDisposable {
  /** Sends a raw message and returns the parsed response. */
  say(message: string): Promise<Answer | Answer[]>;
  /** Sends a message and asserts that there is no response. */
  tell(message: string): Promise<void>;
}

/** All JSON-RPC error codes of the interface. */
export const CODES = [-32700, -32600, -32601, -32602, -32603, -32000];

export function request(method: string, params: unknown = {}, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

export function openExchange(transport: Transport, product: Running, token = product.token): Exchange | Promise<Exchange> {
  return transport === 'http' ? overHttp(product, token) : overWebSocket(product, token);
}

function overHttp({ url }: Running, token: string): Exchange {
  const send = async (body: string): Promise<{ status: number; text: string }> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}/rpc`, { method: 'POST', headers, body });
    return { status: response.status, text: await response.text() };
  };
  return {
    async say(message) {
      const { status, text } = await send(message);
      assert.equal(status, 200, text);
      return checked(text);
    },
    async tell(message) {
      assert.deepEqual(await send(message), { status: 204, text: '' });
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function overWebSocket(product: Running, token: string): Promise<Exchange> {
  const socket = await openSocket(product, token);
  let fences = 0;
  return {
    async say(message) {
      socket.send(message);
      return checked(await socket.next());
    },
    async tell(message) {
      socket.send(message);
      const id = `fence ${++fences}`;
      socket.send(request('session.history', {}, id)); // a round trip to a service, slower than any other response
      assert.equal(one(checked(await socket.next())).id, id);
    },
    [Symbol.asyncDispose]: () => socket[Symbol.asyncDispose](),
  };
}

/** A WebSocket with a queue of received messages. */
export interface Socket extends AsyncDisposable {
  send(data: string | Buffer): void;
  /** Returns the next message. Rejects when the connection closes first. */
  next(): Promise<string>;
  closed: Promise<{ code: number; reason: string }>;
  readonly raw: WebSocket;
}

export async function openSocket({ url }: Running, token: string, query = ''): Promise<Socket> {
  const raw = new WebSocket(
    `${url.replace('http', 'ws')}/ws${query}`,
    token === '' ? {} : { headers: { authorization: `Bearer ${token}` } },
  );
  const closed = once(raw, 'close').then(([code, reason]) => ({ code: code as number, reason: String(reason) }));
  const arrived: string[] = [];
  let wake = Promise.withResolvers<void>();
  raw.on('message', (data: Buffer) => {
    arrived.push(data.toString());
    wake.resolve();
  });
  await once(raw, 'open');
  return {
    raw,
    closed,
    send: (data) => raw.send(data),
    async next() {
      for (;;) {
        const message = arrived.shift();
        if (message !== undefined) return message;
        wake = Promise.withResolvers();
        const gone = await Promise.race([wake.promise, closed]);
        if (gone) throw new Error(`closed with ${gone.code} ${gone.reason}`);
      }
    },
    async [Symbol.asyncDispose]() {
      raw.close();
      await closed;
    },
  };
}

function checked(text: string): Answer | Answer[] {
  assert.doesNotMatch(text, /\bat \S+ \(|\.ts:\d|node_modules/, 'a stack is in the answer');
  const said = JSON.parse(text) as Answer | Answer[];
  for (const answer of Array.isArray(said) ? said : [said]) {
    assert.equal(answer.jsonrpc, '2.0', text);
    assert.ok('id' in answer, text);
    assert.notEqual('result' in answer, 'error' in answer, text);
    if (answer.error) assert.ok(CODES.includes(answer.error.code), text);
  }
  return said;
}

/** Returns the response of an array with exactly one. */
export function one(said: Answer | Answer[]): Answer {
  assert.ok(!Array.isArray(said), `one answer, not ${JSON.stringify(said)}`);
  return said;
}

export function many(said: Answer | Answer[]): Answer[] {
  assert.ok(Array.isArray(said), `a batch of answers, not ${JSON.stringify(said)}`);
  return said;
}

/** Calls a method over HTTP and returns the response. */
export async function sendRequest(product: Running, method: string, params: unknown = {}, token = product.token): Promise<Answer> {
  return one(await overHttp(product, token).say(request(method, params)));
}

/** Calls a method over HTTP and returns its result. */
export async function call<T = Record<string, unknown>>(
  product: Running,
  method: string,
  params: unknown = {},
  token?: string,
): Promise<T> {
  const { error, result } = await sendRequest(product, method, params, token);
  assert.equal(error, undefined, `${method}: ${JSON.stringify(error)}`);
  return result as T;
}

let minted = 0;

/** Creates a token. Each token is a separate client with its own sessions. */
export async function mint(product: Running, ...scopes: string[]): Promise<{ id: string; secret: string }> {
  return call(product, 'tokens.create', { id: `test-${++minted}`, scopes });
}
