import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@switchyard/contracts';
import { checkUrl } from './check-url.ts';
import { readUrlDestination, type AddressChecks, type Reach } from './connector.ts';
import { dial } from './dial.ts';
import type { EgressSettings } from './egress.ts';
import { convertError } from './errors.ts';

const HOST = '127.0.0.1';
const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 120_000;
const MAX_CONNECTIONS = 256;
/** Headers of one connection, which a proxy does not forward. */
const HOP_HEADERS = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

export interface ForwardProxyOptions {
  /** Read for each connection. */
  settings: () => EgressSettings;
  /** The default is `public`. */
  reach?: Reach;
  /** As in `EgressOptions`. */
  allowLoopback?: () => boolean;
  /**
   * Whether clients must send the credentials of `url`. The default is true. Chromium does not read credentials from the address of a
   * proxy, so its proxy has none; every process of this machine can then use it.
   */
  requireCredentials?: boolean;
  /** Called with `host:port` and the reason when a destination is refused, because a browser does not show why a tunnel failed. */
  onRefusal?: (host: string, reason: ServiceError) => void;
}

export interface ForwardProxy extends AsyncDisposable {
  /** For `HTTP_PROXY` and `HTTPS_PROXY` of a child process. */
  readonly url: string;
}

/**
 * Starts a proxy on loopback for a child process. It resolves, checks and dials itself, so that the child needs no other way out.
 * It tunnels `CONNECT` and forwards `http:` requests. Redirects are requests of the child and are checked as such.
 */
export async function startForwardProxy(options: ForwardProxyOptions): Promise<ForwardProxy> {
  const { settings, reach = 'public', allowLoopback, requireCredentials = true, onRefusal } = options;
  const { createServer } = await import('node:http');
  const checks: AddressChecks = { reach, allowLoopback, allowHosts: () => settings().egress.allowHosts };
  const password = randomBytes(24).toString('base64url');
  const expected = `Basic ${Buffer.from(`proxy:${password}`).toString('base64')}`;
  const sockets = new Set<Socket>();

  function isAllowed({ 'proxy-authorization': sent = '' }: IncomingHttpHeaders): boolean {
    return !requireCredentials || timingSafeEqual(hash(sent), hash(expected));
  }

  /** Checks the URL and dials its host. Idle connections close. */
  async function open(url: URL): Promise<Socket> {
    try {
      checkUrl(url, settings().permission.allowedNetHosts, checks);
      const socket = await dial(readUrlDestination(url), checks, CONNECT_TIMEOUT_MS);
      track(socket);
      return socket;
    } catch (error) {
      const reason = convertError(error, url.host);
      const { hostname, port } = readUrlDestination(url);
      if (reason instanceof ServiceError && reason.code === 'FAILED_PRECONDITION') onRefusal?.(`${hostname}:${port}`, reason);
      throw error;
    }
  }

  function track(socket: Socket): void {
    sockets.add(socket);
    socket.setTimeout(IDLE_TIMEOUT_MS, () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  }

  async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on('error', () => client.destroy());
    if (!isAllowed(request.headers)) return void client.end(formatRefusal(CREDENTIALS_MISSING));
    let upstream: Socket;
    try {
      upstream = await open(parseAuthority(request.url ?? ''));
    } catch (error) {
      return void client.end(formatRefusal(explain(error, request.url ?? '')));
    }
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length > 0) upstream.write(head);
    await pipeline(client, upstream, client);
  }

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url ?? '';
    if (!isAllowed(request.headers)) return refuse(response, CREDENTIALS_MISSING);
    if (!/^http:/i.test(target) || !URL.canParse(target)) {
      return refuse(response, { status: 400, text: 'expected an absolute http: URL, or CONNECT' });
    }
    try {
      const url = new URL(target);
      const socket = await open(url);
      await relay(request, response, { url, socket });
    } catch (error) {
      if (response.headersSent) response.destroy();
      else refuse(response, explain(error, target));
    }
  }

  const server = createServer((request, response) => void forward(request, response));
  server.maxConnections = MAX_CONNECTIONS;
  server.on('connection', track);
  server.on('connect', (request, client, head) => void tunnel(request, client, head).catch(() => client.destroy()));
  server.listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: requireCredentials ? `http://proxy:${password}@${HOST}:${port}` : `http://${HOST}:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Sends one request over a socket that was dialled for it. */
async function relay(request: IncomingMessage, response: ServerResponse, { url, socket }: { url: URL; socket: Socket }): Promise<void> {
  const { request: send } = await import('node:http');
  const headers: IncomingHttpHeaders = { ...request.headers, host: url.host, connection: 'close' };
  for (const name of HOP_HEADERS) if (name !== 'connection') delete headers[name];
  const upstream = send({ createConnection: () => socket, method: request.method, path: `${url.pathname}${url.search}`, headers });
  const answered = once(upstream, 'response') as Promise<[IncomingMessage]>;
  const [[answer]] = await Promise.all([answered, pipeline(request, upstream)]);
  for (const name of HOP_HEADERS) delete answer.headers[name];
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  await pipeline(answer, response);
}

interface ProxyRefusal {
  status: number;
  text: string;
}

const CREDENTIALS_MISSING: ProxyRefusal = { status: 407, text: 'the credentials of the proxy are missing or wrong' };
const STATUS_TEXT: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  407: 'Proxy Authentication Required',
  502: 'Bad Gateway',
};

/** A tunnel is encrypted by its client, so its scheme is https: for the default port and for `allowHosts`. */
function parseAuthority(authority: string): URL {
  const address = `https://${authority}`;
  if (!/^[^/?#@\\]+:\d+$/.test(authority) || !URL.canParse(address))
    throw new ServiceError('INVALID_ARGUMENT', 'expected CONNECT host:port');
  return new URL(address);
}

function explain(error: unknown, target: string): ProxyRefusal {
  const converted = convertError(error, target.slice(0, 200));
  const { code, message } = converted instanceof ServiceError ? converted : new ServiceError('INTERNAL', 'the request failed');
  if (code === 'INVALID_ARGUMENT') return { status: 400, text: message };
  return { status: code === 'FAILED_PRECONDITION' ? 403 : 502, text: message };
}

function refuse(response: ServerResponse, { status, text }: ProxyRefusal): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close', ...challenge(status) }).end(`${text}\n`);
}

function formatRefusal({ status, text }: ProxyRefusal): string {
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text) + 1,
    connection: 'close',
    ...challenge(status),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_TEXT[status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${text}\n`;
}

function challenge(status: number): Record<string, string> {
  return status === 407 ? { 'proxy-authenticate': 'Basic realm="egress"' } : {};
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
