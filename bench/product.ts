import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EMBEDDED_FLAGS, SERVER_FLAGS } from '@switchyard/contracts';
import { findNatsServer, startProcess, tempDir, type StartedProcess } from '@switchyard/testkit';
import { buildCall } from './rows.ts';
import { startNode, type Subject } from './subject.ts';

const READY_MS = 30_000;
const UNLIMITED = '1000000000';
const UNLIMITED_TOKENS = '1000000000000';

/** Limits raised so that they do not reject the load generator. All other features are on. */
const LIMITS = {
  SWITCHYARD_CONFIG: ':',
  SWITCHYARD_PORT: '0',
  SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUESTS: UNLIMITED,
  SWITCHYARD_GATEWAY__WS_MESSAGE_RATE_LIMIT__MAX_MESSAGES: UNLIMITED,
  SWITCHYARD_GATEWAY__MAX_CONNECTIONS_PER_TOKEN: UNLIMITED,
  SWITCHYARD_GATEWAY__MAX_CONNECTIONS_PER_ADDRESS: UNLIMITED,
  SWITCHYARD_GATEWAY__MAX_HTTP_CONNECTIONS_PER_ADDRESS: UNLIMITED,
  SWITCHYARD_AGENTS__DEFAULT__BUDGETS__PER_HOUR: UNLIMITED_TOKENS,
  SWITCHYARD_AGENTS__DEFAULT__BUDGETS__PER_DAY: UNLIMITED_TOKENS,
};

/** A running nats-server. */
interface Broker {
  url: string;
  pid: number;
}

export interface ProductOptions {
  /** Folder for CPU profiles. Unset: no profiling. */
  profiles?: string;
  /** Starts the processes with `--inspect` on a free port. */
  inspect?: boolean;
  /** URL of the model upstream. */
  upstream?: Subject | undefined;
  /** Data directory. Unset: a temporary directory. */
  data?: string;
  /** Further environment variables. */
  env?: Readonly<Record<string, string>>;
}

/** Generates an access token in the format that operators configure. */
export function mintBenchToken(): string {
  return `bench-${randomBytes(24).toString('hex')}`;
}

function buildFlags(service: string, { profiles, inspect = false }: ProductOptions): string[] {
  const usual = service === 'embedded' ? EMBEDDED_FLAGS : SERVER_FLAGS;
  const flags = inspect ? [...usual, '--inspect=127.0.0.1:0'] : [...usual];
  if (profiles === undefined) return flags;
  return [...flags, '--cpu-prof', '--cpu-prof-interval=200', `--cpu-prof-dir=${profiles}`, `--cpu-prof-name=${service}.cpuprofile`];
}

export function productEnvironment(data: string, token: string): Record<string, string> {
  return { ...LIMITS, HOME: data, SWITCHYARD_DATA: data, SWITCHYARD_TOKEN: token };
}

/** Environment that points the product to the upstream. */
function buildModelEnvironment({ upstream }: ProductOptions): Record<string, string> {
  return upstream === undefined ? {} : { OPENAI_BASE_URL: `${upstream.url}/v1` };
}

/** Starts all services in one process, like `make start`. */
export async function startEmbedded(stack: AsyncDisposableStack, options: ProductOptions = {}): Promise<Subject> {
  const token = mintBenchToken();
  const data = options.data ?? stack.use(await tempDir()).path;
  const edge = await startNode('services/embedded/src/main.ts', {
    env: { ...productEnvironment(data, token), ...buildModelEnvironment(options), ...options.env },
    ready: /(http:\/\/[\d.:]+)[^]*^Try:/m,
    flags: buildFlags('embedded', options),
  });
  stack.defer(async () => void (await edge.end()));
  return waitUntilReady({ name: 'embedded', url: edge.ready[1] ?? '', headers: bearer(token), edge, pids: [edge.pid] });
}

/** Starts one process per service on a broker. */
export async function startCluster(broker: Broker, stack: AsyncDisposableStack, options: ProductOptions = {}): Promise<Subject> {
  const token = mintBenchToken();
  const data = stack.use(await tempDir()).path;
  const pids = [broker.pid];

  const crew: ClusterOptions = { broker, data, token, options, stack };
  for (const service of ['secrets', 'registry', 'sessions']) pids.push((await startService(crew, service, /"msg":"serving"/)).pid);
  const edge = await startService(crew, 'gateway', EDGE_READY);
  pids.push(edge.pid);
  return waitUntilReady({ name: 'nats', url: edge.ready[1] ?? '', headers: bearer(token), edge, pids });
}

const EDGE_READY = /"url":"(http:[^"]+)"[^]*"msg":"serving"/;

/** Starts one more gateway of the cluster on this broker. */
export async function startEdge(broker: Broker, stack: AsyncDisposableStack): Promise<StartedProcess & { url: string }> {
  const data = stack.use(await tempDir()).path;
  const edge = await startService({ broker, data, token: mintBenchToken(), options: {}, stack }, 'gateway', EDGE_READY);
  return { ...edge, url: edge.ready[1] ?? '' };
}

/** Shared by the processes of one cluster. */
interface ClusterOptions {
  broker: Broker;
  data: string;
  token: string;
  options: ProductOptions;
  stack: AsyncDisposableStack;
}

async function startService(
  { broker, data, token, options, stack }: ClusterOptions,
  service: string,
  ready: RegExp,
): Promise<StartedProcess> {
  const own = join(data, service);
  await mkdir(own);
  const env = { ...productEnvironment(own, token), ...buildModelEnvironment(options), ...options.env, SWITCHYARD_BUS: broker.url };
  const child = await startNode(`services/${service}/src/main.ts`, { env, ready, flags: buildFlags(service, options) });
  stack.defer(async () => void (await child.end()));
  return child;
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

async function waitUntilReady(subject: Subject): Promise<Subject> {
  const deadline = Date.now() + READY_MS;
  let body = '';
  while (Date.now() < deadline) {
    const response = await fetch(`${subject.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...subject.headers },
      body: buildCall('gateway.status'),
    });
    body = await response.text();
    if (body.includes('"result"')) return subject;
    await delay(50);
  }
  throw new Error(`${subject.name} did not become ready: ${body}`);
}

/** Starts a nats-server and returns its pid, because its CPU time counts too. */
export async function startBroker(stack: AsyncDisposableStack): Promise<Broker> {
  const data = stack.use(await tempDir()).path;
  const config = join(data, 'nats.conf');
  await writeFile(config, `max_payload: 8MB\njetstream { store_dir: ${JSON.stringify(join(data, 'store'))} }\n`);
  const ready = /client connections on 127\.0\.0\.1:(\d+)[^]*Server is ready/;
  const server = stack.use(await startProcess([await findNatsServer(), '-c', config, '-a', '127.0.0.1', '-p', '-1'], { ready }));
  return { url: `nats://127.0.0.1:${server.ready[1]}`, pid: server.pid };
}
