import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
export const TOKEN = 'a-token-that-only-these-tests-know-of';

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface RunOptions {
  cwd: string;
  env?: Record<string, string>;
  input?: string;
}

/** Starts the CLI with a clean environment. */
export function startCommand(args: readonly string[], { cwd, env = {} }: RunOptions) {
  const { PATH, NODE_COMPILE_CACHE = '' } = process.env;
  return spawn(process.execPath, [MAIN, ...args], { cwd, env: { PATH, NODE_COMPILE_CACHE, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
}

/** Runs the CLI to its end. */
export async function runCommand(args: readonly string[], options: RunOptions): Promise<Ran> {
  const child = startCommand(args, options);
  child.stdin.end(options.input);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number | null, stdout, stderr };
}

export interface Call {
  id: number;
  method: string;
  params: Record<string, unknown>;
}

export interface Behaviour {
  /** Returns the result of a call. A thrown value becomes the error of the response. */
  call?: (call: Call) => unknown;
  chat?: (query: URLSearchParams, response: ServerResponse) => void;
  readiness?: { code: number; body: object };
  /** Responses of other addresses, by path. */
  api?: Readonly<Record<string, (query: URLSearchParams) => unknown>>;
  /** Additional fields of `/readyz` for `TOKEN`. */
  services?: unknown;
  /** Called with the `Authorization` header of each request. */
  onToken?: (authorization: string) => void;
}

/** Starts a small server with the public interface over HTTP. It accepts `TOKEN` only. */
export async function startServer(behaviour: Behaviour = {}): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((request, response) => void answer(request, response, behaviour));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => stop(server) };
}

async function stop(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

async function answer(request: IncomingMessage, response: ServerResponse, behaviour: Behaviour): Promise<void> {
  const { authorization } = request.headers;
  if (authorization !== undefined) behaviour.onToken?.(authorization);
  const isKnown = authorization === `Bearer ${TOKEN}`;
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname === '/health') return sendJson(response, 200, { status: 'ok', timestamp: new Date().toISOString() });
  if (pathname === '/readyz') {
    const { code, body } = behaviour.readiness ?? { code: 200, body: { status: 'ready', dependencies: { bus: { ready: true } } } };
    return sendJson(response, code, isKnown && behaviour.services !== undefined ? { ...body, services: behaviour.services } : body);
  }
  if (!isKnown) return sendJson(response, 401, { error: 'Unauthorized' });
  if (pathname === '/rpc') return sendJson(response, 200, answerCalls(JSON.parse(await text(request)) as Call | Call[], behaviour));
  if (pathname === '/api/chat/stream' && behaviour.chat) return behaviour.chat(searchParams, response);
  const sendRequest = behaviour.api?.[pathname];
  if (sendRequest) return sendJson(response, 200, sendRequest(searchParams));
  sendJson(response, 404, { error: 'Not found' });
}

function answerCalls(calls: Call | Call[], behaviour: Behaviour): unknown {
  if (Array.isArray(calls)) return calls.map((call) => answerCalls(call, behaviour));
  const { id } = calls;
  try {
    return { jsonrpc: '2.0', id, result: behaviour.call?.(calls) ?? null };
  } catch (error) {
    return { jsonrpc: '2.0', id, error };
  }
}

function sendJson(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Renders one event of a stream. */
export function sendEvent(response: ServerResponse, id: string, event: string, data: unknown): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** Returns whether a printed command can be pasted: it has no placeholder and is valid shell syntax. */
export function assertPasteable(next: string): void {
  assert.doesNotMatch(next, /[<>…#]|, then/, next);
  assert.equal(spawnSync('bash', ['-n', '-c', next]).status, 0, next);
}
