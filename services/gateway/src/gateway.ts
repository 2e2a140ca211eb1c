import type { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { BlobStore } from '@switchyard/blob';
import type { Bus } from '@switchyard/bus';
import type { Cache } from '@switchyard/cache';
import { ServiceError, type ServiceName } from '@switchyard/contracts';
import type { HealthReporter, Settings } from '@switchyard/service-kit';
import { observe, type Logger } from '@switchyard/telemetry';
import type { FastifyInstance } from 'fastify';
import { createAccessLog } from './http/access-log.ts';
import type { Connections } from './websocket/connections.ts';
import { createDispatcher } from './rpc/dispatcher.ts';
import { drainRequests, REQUEST_DRAIN_TIMEOUT_MS } from './http/drain.ts';
import { closeExpiredConnections, closeWebSockets } from './websocket/connection-closing.ts';
import { followDashboard } from './dashboard/dashboard-source.ts';
import type { Edge, EdgeSections } from './http/edge.ts';
import { createLocalMethods } from './rpc/local-methods.ts';
import { openFanOut } from './websocket/fan-out.ts';
import { openWebhookKeys } from './auth/webhook-keys.ts';
import { createHookPaths } from './webhooks/webhook-path.ts';
import { createAdmission } from './auth/admission.ts';
import { createFailureLog } from './request/failure-log.ts';
import { registerPreFastifyRoutes } from './http/pre-fastify-routes.ts';
import { registerHealth } from './http/health.ts';
import { openSharedRateLimits } from './auth/shared-rate-limits.ts';
import { limitHttpConnections } from './http/connection-limits.ts';
import { startHeartbeat } from './websocket/heartbeat.ts';
import { refuse, UPGRADE_REQUIRED } from './request/refusal.ts';
import { createDocuments, registerDocuments } from './rest/api-documents.ts';
import type { Route } from './openapi/route-doc.ts';
import { createCompletions } from './openai/chat-completions/completions.ts';
import { createRpcRoute } from './rpc/http-transport.ts';
import { closeStalledSockets } from './websocket/stalled-sockets.ts';
import { acceptWebSockets } from './websocket/websocket-transport.ts';
import { watchRequiredServices } from './http/required-services.ts';
import { registerPreflight } from './http/cors.ts';
import { addCommonHooks, createHttpServer } from './http/server.ts';
import { startTlsReloader, readTlsMaterial, createTlsOptions, type TlsSettings } from './http/tls.ts';
import { openTickets } from './auth/tickets.ts';
import { openTokens } from './auth/tokens.ts';

/** Registers the routes of one file. */
export type RegisterRoutes = (app: FastifyInstance, edge: Edge) => void;

export interface GatewayOptions {
  bus: Bus;
  /** Shares rate limit counts if it is Redis. */
  cache?: Cache;
  /** The blob store of media. */
  blobs?: () => Promise<BlobStore>;
  settings: Settings<EdgeSections>;
  log: Logger;
  health: HealthReporter;
  version: string;
  routes: readonly RegisterRoutes[];
  host: string;
  /** 0 picks a free one. */
  port: number;
  /** Whether the dashboard path was set before the start, in a file or variable. */
  isDashboardDeclared?: () => boolean;
  /** The directory of the bundled dashboard, which is served unless the settings name another one. It may be built after the start. */
  bundledDashboard?: string;
  /** Enables TLS. */
  tls?: TlsSettings | undefined;
  /** Services required for readiness; by default those of every gateway. */
  needs?: readonly ServiceName[];
  /** Called after each change of the tokens is applied. */
  onRevision?: (revision: number) => void;
}

export interface DrainTimes {
  /** Time to serve requests while `/readyz` reports draining. */
  delayMs: number;
  /** Time for running requests afterwards; ten seconds by default. */
  finishMs: number;
}

export interface Gateway {
  /** The actual URL, such as `http://127.0.0.1:4766`. */
  readonly url: string;
  readonly edge: Edge;
  readonly connections: Connections;
  /** All registered routes. */
  readonly routes: readonly Route[];
  /**
   * Reports draining and serves requests for `delayMs`. Then it stops accepting connections, closes WebSockets, waits for running requests
   * and closes the remaining connections.
   */
  close(times?: Partial<DrainTimes>): Promise<void>;
}

/** Opens the gateway. Everything is set up before the first connection is accepted. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { bus, settings, log, version, host } = options;
  await using opening = new AsyncDisposableStack();
  const draining = new AbortController();
  const closing = new AbortController();
  const ending = new AbortController();
  const failures = opening.use(createFailureLog(log));
  const limits = opening.use(await openSharedRateLimits({ bus, cache: options.cache, settings }));
  const tokens = opening.use(await openTokens({ bus, log, ...(options.onRevision ? { onRevision: options.onRevision } : {}) }));
  const tickets = await openTickets({ bus, tokens });
  const admission = createAdmission({
    settings,
    tokens,
    tickets,
    limits,
    host,
    assignConnection: (socket, client) => sockets.assign(socket, client),
  });
  const edge: Edge = {
    bus,
    settings,
    log,
    failures,
    tokens,
    tickets,
    dashboard: opening.use(
      followDashboard({ settings, log, isDeclared: options.isDashboardDeclared ?? (() => true), bundled: options.bundledDashboard }),
    ),
    blobs: options.blobs ?? rejectBlobs,
    webhookKeys: opening.use(await openWebhookKeys({ bus, settings, log })),
    limits,
    draining: draining.signal,
    closing: closing.signal,
    ending: ending.signal,
    guard: (guardOptions) => admission.guard(guardOptions),
    redeemTicket: (request, ticket) => admission.redeemTicketOfBody(request, ticket),
    getClientAddress: (request) => admission.getClientAddress(request),
    route: (doc) => ({ onRequest: admission.guard(doc), config: { doc } }),
  };

  const secure = options.tls && { tls: options.tls, first: await readTlsMaterial(options.tls) };
  let url = '';
  const routes: Route[] = [];
  const documents = createDocuments({ address: () => settings.current.gateway.publicUrl || url, version, routes });
  const dispatcher = createDispatcher({ bus, settings, failures, local: createLocalMethods(documents.openRpc) });

  const hookPaths = createHookPaths(settings);
  const accessLog = createAccessLog(log);
  const deps = { admission, failures, accessLog };
  const preFastifyRoutes = [createRpcRoute({ ...deps, settings, dispatcher }), createCompletions(edge, deps)];
  const app = opening.adopt(
    createHttpServer({
      ...deps,
      settings,
      preFastifyRoutes,
      rewritePath: (url) => hookPaths.toBaseUrl(url),
      draining: draining.signal,
      tls: secure && createTlsOptions(secure.first, secure.tls.requireClientCert),
    }),
    (server) => server.close(),
  );
  if (secure) opening.use(startTlsReloader({ ...secure, server: app.server as TlsServer, log }));
  app.addHook('onRoute', ({ method, url: path, config }) => {
    routes.push(...[method].flat().map((verb) => ({ verb, path, doc: config?.doc })));
  });
  const sockets = opening.use(
    limitHttpConnections({ server: app.server, settings, getPeerAddress: (socket) => admission.getPeerAddress(socket) }),
  );
  registerPreFastifyRoutes(app, preFastifyRoutes);
  void app.register((scope, _options, done) => {
    addCommonHooks(scope, accessLog);
    registerHealth(scope, edge, { health: options.health, admission });
    registerPreflight(scope, admission);
    registerDocuments(scope, edge, documents);
    scope.get('/ws', (request, reply) => refuse(request, reply, UPGRADE_REQUIRED));
    for (const register of options.routes) register(scope, edge);
    done();
  });

  const { connections } = opening.use(openFanOut({ bus, tokens, log }));
  opening.defer(observe('switchyard.edge.sockets', { kind: 'websocket' }, () => connections.all.size));
  opening.defer(observe('switchyard.edge.sockets', { kind: 'http' }, () => sockets.size));
  opening.defer(observe('switchyard.edge.backlog', {}, () => countBacklogBytes(connections)));
  const stalled = opening.use(closeStalledSockets({ settings, connections }));
  acceptWebSockets(app.server, { edge, admission, dispatcher, connections, stalled });
  options.health.probe('tokens', () => tokens.describeOutage());
  opening.use(closeExpiredConnections({ tokens, connections }));
  opening.use(startHeartbeat({ settings, connections }));
  opening.use(await watchRequiredServices({ bus, health: options.health, needs: options.needs }));
  await app.listen({ host, port: options.port });
  url = createUrl(secure ? 'https' : 'http', host, app.server.address());

  const abandonRequests = (): void => {
    ending.abort();
    bus.abandon();
  };
  const opened = opening.move();
  return {
    url,
    edge,
    connections,
    routes,
    async close({ delayMs = 0, finishMs = REQUEST_DRAIN_TIMEOUT_MS } = {}) {
      draining.abort();
      if (delayMs > 0) await delay(delayMs);
      closing.abort();
      await Promise.all([drainRequests({ server: app.server, sockets, finishMs, abandonRequests }), closeWebSockets(connections)]);
      await opened.disposeAsync();
    },
  };
}

function rejectBlobs(): Promise<never> {
  return Promise.reject(new ServiceError('UNAVAILABLE', 'This gateway has no blob store.'));
}

function countBacklogBytes({ all }: Connections): number {
  let bytes = 0;
  for (const { socket } of all) bytes += socket.bufferedAmount;
  return bytes;
}

function createUrl(scheme: 'http' | 'https', host: string, address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') throw new TypeError('the listener has no port');
  return `${scheme}://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${address.port}`;
}
