import type { BlobStore } from '@switchyard/blob';
import { connectBus, createMemoryHub, type Bus, type Handlers, type LargePayloads } from '@switchyard/bus';
import type { Cache } from '@switchyard/cache';
import {
  INLINE_BYTES,
  sections,
  sessions,
  TOKENS_BUCKET,
  TOKENS_COMPLETE_KEY,
  type Sections,
  type TokenProjection,
} from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import type { HealthReporter, Readiness, Settings } from '@switchyard/service-kit';
import { silentLogger, type Logger } from '@switchyard/telemetry';
import { WebSocket, type RawData } from 'ws';
import type { z } from 'zod';
import type { EdgeSections } from './http/edge.ts';
import { routes } from './routes.ts';
import { openGateway, type Gateway } from './gateway.ts';

export type GatewaySection = Sections['gateway'];

/** Settings that a test changes at run time. */
export interface TestSettings extends Settings<EdgeSections> {
  set(changes: Partial<GatewaySection>): void;
  setWebhooks(webhooks: WebhooksInput): void;
}

export type WebhooksInput = z.input<typeof sections.webhooks>;

export function testSettings(changes: Partial<GatewaySection> = {}, webhooks?: WebhooksInput): TestSettings {
  let current: Pick<Sections, EdgeSections> = {
    gateway: { ...sections.gateway.parse(undefined), ...changes },
    webhooks: sections.webhooks.parse(webhooks),
    tenantId: 'default',
  };
  const listeners = new Set<(current: Pick<Sections, EdgeSections>) => void>();
  const put = (next: Partial<typeof current>): void => {
    current = { ...current, ...next };
    for (const listener of listeners) listener(current);
  };
  return {
    get current() {
      return current;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    set: (next) => put({ gateway: { ...current.gateway, ...next } }),
    setWebhooks: (next) => put({ webhooks: sections.webhooks.parse(next) }),
  };
}

/** Valid secrets, one per kind of token. */
export const SECRETS = {
  all: 'test-secret-that-holds-every-scope-0001',
  rpc: 'test-secret-that-holds-rpc-alone-00002',
  admin: 'test-secret-that-holds-admin-alone-003',
  mcp: 'test-secret-of-an-mcp-client-alone-0004',
} as const;

const TOKENS: Record<keyof typeof SECRETS, TokenProjection['scopes']> = { all: ['*'], rpc: ['rpc'], admin: ['admin'], mcp: ['mcp-client'] };

export interface TestGateway extends AsyncDisposable {
  url: string;
  gateway: Gateway;
  /** The bus connection of the gateway. */
  edgeBus: Bus;
  /** The bus connection of the services. */
  bus: Bus;
  /** Disconnects the gateway from the bus permanently. */
  loseBus(): Promise<void>;
  settings: TestSettings;
  /** Writes a token like the secrets service, and resolves when it is applied. */
  putToken(token: Partial<TokenProjection> & { id: string; secret: string; key?: string }): Promise<void>;
  removeToken(id: string): Promise<void>;
  post(path: string, body: string | Uint8Array, options?: { token?: string; headers?: Record<string, string> }): Promise<Response>;
  connect(token?: string, path?: string): Promise<TestSocket>;
}

export interface TestGatewayOptions {
  settings?: Partial<GatewaySection>;
  webhooks?: WebhooksInput;
  handlers?: Handlers<typeof sessions>;
  log?: Logger;
  cache?: Cache;
  blobs?: () => Promise<BlobStore>;
  /** The store of large payloads. With it the bus enforces the limits of a bus between processes. */
  large?: LargePayloads;
}

/** A gateway on a free port with a sessions service on the in-process bus. */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { settings: changes, webhooks, handlers = {}, log = silentLogger(), cache, blobs, large } = options;
  const strict = large === undefined ? {} : { large, inlineBytes: INLINE_BYTES };
  const hub = createMemoryHub();
  const bus = await connectBus('memory:', { hub, log, service: 'sessions', ...strict });
  const edgeBus = await connectBus('memory:', { hub, log, service: 'gateway', ...strict });
  await bus.serve(sessions, handlers, { version: '0.0.0', log });
  const bucket = await bus.kv(TOKENS_BUCKET);
  for (const [id, scopes] of Object.entries(TOKENS)) {
    await bucket.put(id, project({ id, scopes, secret: SECRETS[id as keyof typeof SECRETS] }));
  }
  await bucket.put(TOKENS_COMPLETE_KEY, Buffer.from('{"told":true}'));
  const settings = testSettings({ rateLimit: { windowMs: 60_000, maxRequests: 100_000 }, wsHeartbeatMs: 0, ...changes }, webhooks);
  const revisions = createRevisions();
  const gateway = await openGateway({
    bus: edgeBus,
    settings,
    log,
    version: '0.0.0',
    routes,
    host: '127.0.0.1',
    port: 0,
    onRevision: (revision) => revisions.reached(revision),
    health: testHealth(() => edgeBus.connected()),
    needs: ['sessions'],
    tls: settings.current.gateway.tls,
    ...(cache ? { cache } : {}),
    ...(blobs ? { blobs } : {}),
  });

  return {
    url: gateway.url,
    gateway,
    bus,
    edgeBus,
    loseBus: () => edgeBus.drain(),
    settings,
    putToken: async ({ key, ...token }) => revisions.wait(await bucket.put(key ?? token.id, project(token))),
    removeToken: async (id) => revisions.wait(await bucket.remove(id)),
    post: (path, body, { token, headers } = {}) =>
      fetch(gateway.url + path, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
      }),
    connect: (token = SECRETS.all, path = '/ws') => openSocket(gateway.url.replace('http', 'ws') + path, token),
    async [Symbol.asyncDispose]() {
      await gateway.close();
      await bus.drain();
      await edgeBus.drain();
    },
  };
}

/** A health reporter like that of the process. */
function testHealth(connected: () => boolean): HealthReporter {
  const dependencies: Readiness['dependencies'] = {};
  const set: HealthReporter['set'] = (name, ready, reason = '') =>
    void (dependencies[name] = { ready, since: 0, ...(ready ? {} : { reason }) });
  const probes = new Map<string, () => string | undefined>();
  return {
    set,
    setOptional: (name, outage) => set(name, outage === undefined, outage),
    probe: (name, outage) => void probes.set(name, outage),
    readiness() {
      set('bus', connected(), 'not connected');
      for (const [name, outage] of probes) set(name, outage() === undefined, outage());
      const ready = Object.values(dependencies).every((dependency) => dependency.ready);
      return { ready, status: ready ? 'ready' : 'unavailable', dependencies };
    },
  };
}

/** A received message as text. */
export function toText(data: RawData): string {
  return Buffer.isBuffer(data) ? data.toString() : '';
}

function project({ secret, ...token }: Partial<TokenProjection> & { id: string; secret: string }): Uint8Array {
  return Buffer.from(JSON.stringify({ scopes: ['*'], tenant: 'default', client: token.id, ver: 1, ...token, hash: hashToken(secret) }));
}

function createRevisions(): { reached(revision: number): void; wait(revision: number): Promise<void> } {
  let reached = 0;
  let waiters: { revision: number; resolve: () => void }[] = [];
  return {
    reached(revision) {
      reached = Math.max(reached, revision);
      for (const { resolve } of waiters.filter((waiter) => waiter.revision <= reached)) resolve();
      waiters = waiters.filter((waiter) => waiter.revision > reached);
    },
    wait: (revision) => (revision <= reached ? Promise.resolve() : new Promise((resolve) => void waiters.push({ revision, resolve }))),
  };
}

/** A WebSocket client that queues messages until they are requested. */
export interface TestSocket {
  socket: WebSocket;
  send(data: string | Uint8Array): void;
  /** The next parsed message. */
  next(): Promise<Answer>;
  /** The code and reason of the close. */
  closed: Promise<{ code: number; reason: string }>;
  request(message: unknown): Promise<Answer>;
}

/** A JSON-RPC message. */
export interface Answer {
  jsonrpc: string;
  id?: unknown;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: Record<string, unknown> };
}

async function openSocket(url: string, token: string): Promise<TestSocket> {
  const socket = new WebSocket(url, token === '' ? {} : { headers: { authorization: `Bearer ${token}` } });
  const received: Answer[] = [];
  const waiters: ((answer: Answer) => void)[] = [];
  socket.on('message', (data) => {
    const answer = JSON.parse(toText(data)) as Answer;
    const waiter = waiters.shift();
    if (waiter) waiter(answer);
    else received.push(answer);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const next = (): Promise<Answer> => {
    const answer = received.shift();
    return answer ? Promise.resolve(answer) : new Promise((resolve) => void waiters.push(resolve));
  };
  return {
    socket,
    send: (data) => socket.send(data),
    next,
    closed,
    request(message) {
      socket.send(typeof message === 'string' ? message : JSON.stringify(message));
      return next();
    },
  };
}
