import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '@switchyard/bus';
import { openRpcDocument } from '@switchyard/contracts';
import type { HealthReporter, Settings } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import type { FastifyInstance } from 'fastify';
import { createAccessLog } from './access-log.ts';
import type { Connections } from './connections.ts';
import { createDispatcher } from './dispatch.ts';
import type { Edge } from './edge.ts';
import { createEdgeMethods } from './edge-methods.ts';
import { openFanOut } from './fan-out.ts';
import { createGate } from './gate.ts';
import { registerHealth } from './health.ts';
import { createLimits } from './limits.ts';
import { startPulse } from './pulse.ts';
import { refuse, UPGRADE_REQUIRED } from './refusal.ts';
import { registerRpc } from './rpc-http.ts';
import { acceptWebSockets } from './rpc-ws.ts';
import { addCommonHooks, createHttpServer, registerPreflight } from './server.ts';
import { openTokens } from './tokens.ts';

const SOCKETS_CLOSE_MS = 500;
const REQUESTS_FINISH_MS = 10_000;
const GOING_AWAY = 1001;
/** Sockets beyond the WebSockets, so that a full edge still answers requests and probes. */
const HTTP_CONNECTIONS = 1_000;

/** Adds the routes of a door. */
export type RegisterDoor = (app: FastifyInstance, edge: Edge) => void;

export interface GatewayOptions {
  bus: Bus;
  settings: Settings<'gateway'>;
  log: Logger;
  health: HealthReporter;
  version: string;
  doors: readonly RegisterDoor[];
  host: string;
  /** 0 picks a free one. */
  port: number;
  /** Called after each change of the tokens is in force here. */
  onRevision?: (revision: number) => void;
}

export interface Gateway {
  /** Where it really listens, such as `http://127.0.0.1:4766`. */
  readonly url: string;
  readonly edge: Edge;
  readonly connections: Connections;
  /** Stops accepting, tells WebSockets to go elsewhere, lets requests finish, then closes what is left. */
  close(): Promise<void>;
}

/** Opens the edge: everything is set up before the first connection is accepted. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { bus, settings, log, version, host } = options;
  await using opening = new AsyncDisposableStack();
  const closing = new AbortController();
  const limits = createLimits();
  const tokens = opening.use(await openTokens({ bus, log, ...(options.onRevision ? { onRevision: options.onRevision } : {}) }));
  const gate = createGate({ settings, tokens, limits, host });
  const edge: Edge = { bus, settings, log, tokens, limits, closing: closing.signal, guard: (wanted) => gate.guard(wanted) };

  let url = '';
  let openRpc: string | undefined;
  const openRpcText = () => (openRpc ??= JSON.stringify(openRpcDocument({ url: `${url}/rpc`, version })));
  const dispatcher = createDispatcher({ bus, settings, log, local: createEdgeMethods(openRpcText) });

  const accessLog = createAccessLog(log);
  const app = opening.adopt(createHttpServer({ settings, gate, log, accessLog }), (server) => server.close());
  registerRpc(app, edge, { dispatcher, accessLog });
  void app.register((routes, _options, done) => {
    addCommonHooks(routes, accessLog);
    registerHealth(routes, edge, options.health);
    registerPreflight(routes, gate);
    routes.get('/openrpc.json', { onRequest: edge.guard({}) }, (_request, reply) => {
      reply.header('content-type', 'application/json; charset=utf-8').send(openRpcText());
    });
    routes.get('/ws', (request, reply) => refuse(request, reply, UPGRADE_REQUIRED));
    for (const register of options.doors) register(routes, edge);
    done();
  });

  const { connections } = opening.use(openFanOut(bus, tokens));
  acceptWebSockets(app.server, { edge, gate, dispatcher, connections });
  opening.use(startPulse({ settings, connections }));
  opening.defer(followConnectionCap(app, settings));
  await app.listen({ host, port: options.port });
  url = urlOf(host, app.server.address());

  const opened = opening.move();
  return {
    url,
    edge,
    connections,
    async close() {
      closing.abort();
      await Promise.all([drainRequests(app), closeSockets(connections)]);
      await opened.disposeAsync();
    },
  };
}

function followConnectionCap({ server }: FastifyInstance, settings: Settings<'gateway'>): () => void {
  const apply = (): void => void (server.maxConnections = settings.current.gateway.maxConnections + HTTP_CONNECTIONS);
  apply();
  return settings.onChange(apply);
}

function urlOf(host: string, address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') throw new TypeError('the listener has no port');
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${address.port}`;
}

async function closeSockets({ all }: Connections): Promise<void> {
  const gone = [...all].map(({ socket }) => new Promise<void>((resolve) => void socket.once('close', () => resolve())));
  for (const { socket } of all) socket.close(GOING_AWAY, 'Server shutting down');
  await Promise.race([Promise.all(gone), delay(SOCKETS_CLOSE_MS, undefined, { ref: false })]);
  for (const { socket } of all) socket.terminate();
}

/** Node lets a kept-alive connection stay open after its last answer; a draining server has no use for it. */
async function drainRequests({ server }: FastifyInstance): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const sweep = setInterval(() => server.closeIdleConnections(), 20);
  await Promise.race([closed, delay(REQUESTS_FINISH_MS, undefined, { ref: false })]);
  clearInterval(sweep);
}
