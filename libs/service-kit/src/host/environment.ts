import { join } from 'node:path';
import { isRedisUrl } from '@switchyard/cache';
import { MAX, listStreams, TURNS_LOG } from '@switchyard/contracts';
import { checkToken, MIN_OPERATOR_TOKEN } from '@switchyard/security';
import { z } from 'zod';
import { readDataDir } from '../settings/data-directory.ts';
import { readSecret, type Variables } from '../variables/secret-variables.ts';
import { BLOB_VARIABLE_HELP } from '../variables/blob-access.ts';
import { BUS_VARIABLE_HELP } from '../variables/bus-access.ts';
import { StartError } from '../variables/start-error.ts';

/** What the environment says about the process itself. Configuration keys are read by `openSettings`. */
export interface Environment {
  /** The data directory. */
  data: string;
  /** Who named it. */
  dataFrom: 'environment' | 'settings' | 'default';
  bus: string;
  store: string;
  cache: string;
  /** Configuration files, weakest first; undefined when the environment does not say. */
  config: readonly string[] | undefined;
  token: string | undefined;
  url: string | undefined;
  replica: string | undefined;
  /** Where the process can be looked at; undefined where the environment does not say. */
  probes: { host: string; metrics: ProbePort | undefined; health: ProbePort | undefined };
  /** In how many streams the frames of turns are kept: for the job that provisions. */
  turnStreams: number;
  /** On how many servers the bus keeps a copy of everything: for the same job. */
  busCopies: number;
  /** Everything, for the few who must read it. Never log it. */
  variables: Variables;
}

/** 0 takes a free one. */
export type ProbePort = number | 'off';

/** Where everything is kept unless somebody says otherwise. */
export const DEFAULT_DATA = '.switchyard';
const LOOPBACK = '127.0.0.1';
const LAST_PORT = 65_535;
const NO_PORT = 'must be a port, 0 for a free one, or off';
const HOST = /^[A-Za-z0-9.:_-]+$/;
const REPLICA = /^[A-Za-z0-9_-]{1,64}$/;
const MOST_STREAMS = listStreams(TURNS_LOG).length;
const MOST_COPIES = 5;
const COPIES = `must be a number from 1 to ${MOST_COPIES}`;
const STREAMS = `must be a number from 1 to ${MOST_STREAMS}`;

/** Variables that say where the process works and with what, as a reader is told of them. All others named `SWITCHYARD_…` are configuration keys. */
export const PROCESS_VARIABLE_HELP: Readonly<Record<string, { preset: string; means: string }>> = {
  SWITCHYARD_DATA: { preset: DEFAULT_DATA, means: 'data directory; its `run.json` describes the running processes for scripts' },
  SWITCHYARD_TOKEN: {
    preset: 'created once, saved with mode 0600',
    means: 'a token of scope `*`, valid while it is set; at least 32 characters',
  },
  SWITCHYARD_URL: { preset: 'the local gateway', means: 'gateway address for the command and the client library' },
  SWITCHYARD_BUS: { preset: 'memory:', means: '`nats://…`: nats-server with JetStream (`-js`) and `max_payload: 8MB`' },
  ...BUS_VARIABLE_HELP,
  SWITCHYARD_STORE: {
    preset: 'sqlite: in the data directory',
    means: '`sqlite:DIR` for another directory, `mongodb://…/name` for a server, with a database per service',
  },
  SWITCHYARD_CACHE: { preset: 'memory:', means: '`redis://host:port` for rate limits shared by replicas; an outage fails no request' },
  ...BLOB_VARIABLE_HELP,
  SWITCHYARD_CONFIG: {
    preset: 'config.yaml, if it exists',
    means: 'configuration files, separated by colons; later ones override earlier ones',
  },
  SWITCHYARD_REPLICA: { preset: 'generated', means: 'name of this replica in leases, reports and discovery' },
  SWITCHYARD_DEV_TOOLS: {
    preset: 'off',
    means: 'for tests: `on` offers counted tools to turns of a development model',
  },
  SWITCHYARD_METRICS_PORT: {
    preset: 'off; 9464 or a free port in one process',
    means: 'serves `/metrics` for Prometheus, `/livez` and `/readyz`; 0 selects a free port, `off` disables it',
  },
  SWITCHYARD_HEALTH_PORT: { preset: 'off', means: 'serves `grpc.health.v1.Health`; 0 selects a free port' },
  SWITCHYARD_PROBE_HOST: {
    preset: LOOPBACK,
    means: 'listener of the metrics and health ports, which need no token; `0.0.0.0` in a container with a restricted network',
  },
  SWITCHYARD_TURN_STREAMS: {
    preset: '1',
    means: `number of NATS streams for frames of turns, at most ${MOST_STREAMS}; read by the provisioning job only`,
  },
  SWITCHYARD_BUS_COPIES: {
    preset: '1',
    means: `number of copies of each stream and bucket in a NATS cluster, at most ${MOST_COPIES}; with 3, one of three servers may fail; read by the provisioning job only`,
  },
};

export const PROCESS_VARIABLES = Object.keys(PROCESS_VARIABLE_HELP);

const text = (most: number) => z.string().max(most, `must have at most ${most} characters`);

const adapter = (schemes: readonly string[]) =>
  text(MAX.url).refine((url) => schemes.some((scheme) => url.startsWith(scheme)), {
    message: `must begin with ${schemes.join(' or ')}`,
    abort: true,
  });

/** `memory:`, or the addresses of servers joined by commas. What stands before the @ must be readable too. */
function isBus(url: string): boolean {
  return url === 'memory:' || url.split(',').every(isServer);
}

function isServer(address: string): boolean {
  const url = /^(nats|tls):\/\//.test(address) ? URL.parse(address) : null;
  if (url === null || url.hostname === '') return false;
  try {
    decodeURIComponent(url.username + url.password);
    return true;
  } catch {
    return false;
  }
}

const probePort = text(5)
  .regex(/^(off|[0-9]+)$/, NO_PORT)
  .transform((port): ProbePort => (port === 'off' ? port : Number(port)))
  .refine((port) => port === 'off' || port <= LAST_PORT, NO_PORT)
  .optional();

export const Table = z.object({
  data: text(MAX.path),
  bus: adapter(['memory:', 'nats://', 'tls://']).refine(isBus, 'must be memory: or nats://host:port; several servers are joined by commas'),
  store: adapter(['sqlite:', 'mongodb://', 'mongodb+srv://']),
  cache: adapter(['memory:', 'redis://', 'rediss://']).refine(
    (url) => url === 'memory:' || isRedisUrl(url),
    'must be memory: or redis://host:port',
  ),
  url: z
    .url({ protocol: /^https?$/, error: 'must be a URL such as http://127.0.0.1:4766' })
    .max(MAX.url)
    .optional(),
  token: text(MAX.value)
    .min(MIN_OPERATOR_TOKEN, `must have at least ${MIN_OPERATOR_TOKEN} characters`)
    .refine((token) => checkToken(token) !== 'malformed', { message: 'looks like one of our tokens, but is mistyped or cut off' })
    .optional(),
  replica: text(64).regex(REPLICA, 'must be 1 to 64 letters, digits, - or _').optional(),
  metrics_port: probePort,
  health_port: probePort,
  probe_host: text(255).regex(HOST, 'must be an address or a host name, without a port'),
  turn_streams: z
    .string()
    .max(2, { error: STREAMS, abort: true })
    .regex(/^[0-9]+$/, STREAMS)
    .transform(Number)
    .refine((count) => count >= 1 && count <= MOST_STREAMS, STREAMS),
  bus_copies: z
    .string()
    .max(1, { error: COPIES, abort: true })
    .regex(/^[1-5]$/, COPIES)
    .transform(Number),
  dev_tools: z.enum(['on', 'off'], 'must be on or off').optional(),
});

/** Reads the table once. A bad value is refused in one sentence that names the variable and never repeats the value. */
export async function readEnvironment(variables: Variables): Promise<Environment> {
  const read = (name: string): Promise<string | undefined> => readSecret(variables, `SWITCHYARD_${name}`);
  const config = (await read('CONFIG'))?.split(':').filter((path) => path !== '');
  const named = await read('DATA');
  const setting = named === undefined ? await readDataDir(variables, config) : undefined;
  const data = named ?? setting ?? DEFAULT_DATA;
  const store = (await read('STORE')) ?? 'sqlite:';
  const table = Table.safeParse({
    data,
    bus: (await read('BUS')) ?? 'memory:',
    store: store === 'sqlite:' ? `sqlite:${join(data, 'store')}` : store,
    cache: (await read('CACHE')) ?? 'memory:',
    url: await read('URL'),
    token: await read('TOKEN'),
    replica: await read('REPLICA'),
    metrics_port: await read('METRICS_PORT'),
    health_port: await read('HEALTH_PORT'),
    probe_host: (await read('PROBE_HOST')) ?? LOOPBACK,
    turn_streams: (await read('TURN_STREAMS')) ?? '1',
    bus_copies: (await read('BUS_COPIES')) ?? '1',
    dev_tools: await read('DEV_TOOLS'),
  });
  if (!table.success) throw new StartError(table.error.issues.map(sentence).join(' '));
  const {
    url,
    token,
    replica,
    metrics_port: metrics,
    health_port: health,
    probe_host: host,
    turn_streams: turnStreams,
    bus_copies: busCopies,
    dev_tools: _,
    ...rest
  } = table.data;
  const probes = { host, metrics, health };
  return {
    ...rest,
    url,
    token,
    replica,
    probes,
    turnStreams,
    busCopies,
    dataFrom: named !== undefined ? 'environment' : setting !== undefined ? 'settings' : 'default',
    config,
    variables,
  };
}

function sentence(issue: z.core.$ZodIssue): string {
  return `SWITCHYARD_${String(issue.path[0]).toUpperCase()} ${issue.message}.`;
}
