import { join } from 'node:path';
import { isRedisUrl } from '@switchyard/cache';
import { MAX } from '@switchyard/contracts';
import { checkToken, MIN_OPERATOR_TOKEN } from '@switchyard/security';
import { z } from 'zod';
import { readDataDir } from '../settings/data-directory.ts';
import { readSecret, type Variables } from '../variables/secret-variables.ts';
import type { ProbePort, ProbeSettings } from '../health/probes.ts';
import { DEFAULT_DATA, LOOPBACK, MAX_BUS_COPIES, MAX_TURN_STREAMS } from '../variables/process-variables.ts';
import { StartError } from '../variables/start-error.ts';

/** The process settings of the environment. `openSettings` reads the configuration keys. */
export interface Environment {
  /** The data directory. */
  data: string;
  /** Source of the data directory. */
  dataFrom: 'environment' | 'settings' | 'default';
  bus: string;
  store: string;
  cache: string;
  /** Configuration files, lowest precedence first; undefined if not set. */
  config: readonly string[] | undefined;
  token: string | undefined;
  url: string | undefined;
  replica: string | undefined;
  /** Addresses of the probe servers. */
  probes: ProbeSettings;
  /** Number of streams for the frames of turns; used by the provisioning job. */
  turnStreams: number;
  /** Number of copies of each stream and bucket; used by the provisioning job. */
  busCopies: number;
  /** All variables. Never log them. */
  variables: Variables;
}

const LAST_PORT = 65_535;
const NO_PORT = 'must be a port, 0 for a free one, or off';
const HOST = /^[A-Za-z0-9.:_-]+$/;
const REPLICA = /^[A-Za-z0-9_-]{1,64}$/;
const COPIES = `must be a number from 1 to ${MAX_BUS_COPIES}`;
const STREAMS = `must be a number from 1 to ${MAX_TURN_STREAMS}`;

const text = (max: number) => z.string().max(max, `must have at most ${max} characters`);

const adapter = (schemes: readonly string[]) =>
  text(MAX.url).refine((url) => schemes.some((scheme) => url.startsWith(scheme)), {
    message: `must begin with ${schemes.join(' or ')}`,
    abort: true,
  });

/** Whether the text is `memory:` or a comma-separated list of server URLs with decodable credentials. */
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
    .refine((token) => checkToken(token) !== 'malformed', { message: 'looks like a Switchyard token, but is mistyped or truncated' })
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
    .refine((count) => count >= 1 && count <= MAX_TURN_STREAMS, STREAMS),
  bus_copies: z
    .string()
    .max(1, { error: COPIES, abort: true })
    .regex(/^[1-5]$/, COPIES)
    .transform(Number),
  dev_tools: z.enum(['on', 'off'], 'must be on or off').optional(),
});

/** Reads the environment once. Throws a `StartError` that names an invalid variable and never contains its value. */
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
