import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EMBEDDED_FLAGS, SERVER_FLAGS } from '@switchyard/contracts';
import { findNatsServer, startProcess, tempDir, type StartedProcess } from '@switchyard/testkit';
import { callOf } from './rows.ts';
import { startNode, type Subject } from './subject.ts';

const READY_MS = 30_000;
const MANY = '1000000000';
const MANY_TOKENS = '1000000000000000';

/** Everything is on; only what would refuse a load generator is raised. */
const LIMITS = {
  SWITCHYARD_CONFIG: ':',
  SWITCHYARD_PORT: '0',
  SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUESTS: MANY,
  SWITCHYARD_GATEWAY__WS_MESSAGE_RATE_LIMIT__MAX_MESSAGES: MANY,
  SWITCHYARD_GATEWAY__MAX_CONNECTIONS_PER_TOKEN: MANY,
  SWITCHYARD_GATEWAY__MAX_CONNECTIONS_PER_ADDRESS: MANY,
  SWITCHYARD_GATEWAY__MAX_HTTP_CONNECTIONS_PER_ADDRESS: MANY,
  SWITCHYARD_AGENTS__DEFAULT__BUDGETS__PER_HOUR: MANY_TOKENS,
  SWITCHYARD_AGENTS__DEFAULT__BUDGETS__PER_DAY: MANY_TOKENS,
};

/** A nats-server. */
interface Broker {
  url: string;
  pid: number;
}

export interface ProductOptions {
  /** Where the profiles of its processes are written; without, it is not profiled. */
  profiles?: string;
  /** They can be asked what they do, at an address each of them says. */
  inspect?: boolean;
  /** Where its models are. */
  upstream?: Subject | undefined;
  /** Where its data is; without, a directory of its own. */
  data?: string;
  /** Settings besides. */
  env?: Readonly<Record<string, string>>;
}

/** A token as an operator would set it. */
export function mintBenchToken(): string {
  return `bench-${randomBytes(24).toString('hex')}`;
}

function flagsOf(service: string, { profiles, inspect = false }: ProductOptions): string[] {
  const usual = service === 'embedded' ? EMBEDDED_FLAGS : SERVER_FLAGS;
  const flags = inspect ? [...usual, '--inspect=127.0.0.1:0'] : [...usual];
  if (profiles === undefined) return flags;
  return [...flags, '--cpu-prof', '--cpu-prof-interval=200', `--cpu-prof-dir=${profiles}`, `--cpu-prof-name=${service}.cpuprofile`];
}

export function productEnvironment(data: string, token: string): Record<string, string> {
  return { ...LIMITS, HOME: data, SWITCHYARD_DATA: data, SWITCHYARD_TOKEN: token };
}

/** As an operator would name a server of models. */
function modelsAt({ upstream }: ProductOptions): Record<string, string> {
  return upstream === undefined ? {} : { OPENAI_BASE_URL: `${upstream.url}/v1` };
}

/** All services in one process, as `make start` runs them. */
export async function startEmbedded(stack: AsyncDisposableStack, options: ProductOptions = {}): Promise<Subject> {
  const token = mintBenchToken();
  const data = options.data ?? stack.use(await tempDir()).path;
  const edge = await startNode('services/embedded/src/main.ts', {
    env: { ...productEnvironment(data, token), ...modelsAt(options), ...options.env },
    ready: /(http:\/\/[\d.:]+)[^]*^Try:/m,
    flags: flagsOf('embedded', options),
  });
  stack.defer(async () => void (await edge.end()));
  return whenReady({ name: 'embedded', url: edge.ready[1] ?? '', headers: bearer(token), edge, pids: [edge.pid] });
}

/** One process per service and a broker between them. */
export async function startCluster(broker: Broker, stack: AsyncDisposableStack, options: ProductOptions = {}): Promise<Subject> {
  const token = mintBenchToken();
  const data = stack.use(await tempDir()).path;
  const pids = [broker.pid];

  const crew: Crew = { broker, data, token, options, stack };
  for (const service of ['secrets', 'registry', 'sessions']) pids.push((await startService(crew, service, /"msg":"serving"/)).pid);
  const edge = await startService(crew, 'gateway', EDGE_READY);
  pids.push(edge.pid);
  return whenReady({ name: 'nats', url: edge.ready[1] ?? '', headers: bearer(token), edge, pids });
}

const EDGE_READY = /"url":"(http:[^"]+)"[^]*"msg":"serving"/;

/** One more gateway of the cluster that is on this broker. */
export async function startEdge(broker: Broker, stack: AsyncDisposableStack): Promise<StartedProcess & { url: string }> {
  const data = stack.use(await tempDir()).path;
  const edge = await startService({ broker, data, token: mintBenchToken(), options: {}, stack }, 'gateway', EDGE_READY);
  return { ...edge, url: edge.ready[1] ?? '' };
}

/** What processes of one cluster share. */
interface Crew {
  broker: Broker;
  data: string;
  token: string;
  options: ProductOptions;
  stack: AsyncDisposableStack;
}

async function startService({ broker, data, token, options, stack }: Crew, service: string, ready: RegExp): Promise<StartedProcess> {
  const own = join(data, service);
  await mkdir(own);
  const env = { ...productEnvironment(own, token), ...modelsAt(options), ...options.env, SWITCHYARD_BUS: broker.url };
  const child = await startNode(`services/${service}/src/main.ts`, { env, ready, flags: flagsOf(service, options) });
  stack.defer(async () => void (await child.end()));
  return child;
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

async function whenReady(subject: Subject): Promise<Subject> {
  const deadline = Date.now() + READY_MS;
  let said = '';
  while (Date.now() < deadline) {
    const response = await fetch(`${subject.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...subject.headers },
      body: callOf('gateway.status'),
    });
    said = await response.text();
    if (said.includes('"result"')) return subject;
    await delay(50);
  }
  throw new Error(`${subject.name} did not become ready: ${said}`);
}

/** A nats-server whose process is known, because its work counts too. */
export async function startBroker(stack: AsyncDisposableStack): Promise<Broker> {
  const data = stack.use(await tempDir()).path;
  const config = join(data, 'nats.conf');
  await writeFile(config, `max_payload: 8MB\njetstream { store_dir: ${JSON.stringify(join(data, 'store'))} }\n`);
  const ready = /client connections on 127\.0\.0\.1:(\d+)[^]*Server is ready/;
  const server = stack.use(await startProcess([await findNatsServer(), '-c', config, '-a', '127.0.0.1', '-p', '-1'], { ready }));
  return { url: `nats://127.0.0.1:${server.ready[1]}`, pid: server.pid };
}
