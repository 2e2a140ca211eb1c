import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isBuilt, SERVICES, type ServiceName } from '@switchyard/contracts';
import type { ConfigurationSource, Variables } from '@switchyard/service-kit';
import { nodeCommand, type Member } from './member.ts';
import type { Ports } from './ports.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** What the launcher says itself, to each process what is its own. */
const OURS =
  /^SWITCHYARD_(DATA|TOKEN|URL|REPLICA|BUS(_\w+)?|STORE|CACHE|HOST|PORT|(METRICS|HEALTH)_PORT|PROBE_HOST|BLOBS|BLOB_(TOKEN|PORT|HOST)|GATEWAY__(HOST|PORT))(_FILE)?$/;

const MASTER = /^SECRETS_MASTER_KEY/;

/** Unless somebody set it: by then the balancer has looked, and sends nobody to a gateway that is told to stop. */
const DRAIN_DELAY_MS = '1000';

/** Under this name the launcher stands in `run.json` itself. */
export const LAUNCHER = 'cluster';

/** Keeps what is too large for the bus, and serves it to all others: of the services that have a database, the one with least to do. */
const BLOB_KEEPER: ServiceName = 'registry';

/** Addresses of what the services stand on. */
export interface Servers {
  bus: string;
  store: string;
  cache: string;
  /** Where the replicas of the keeper keep blobs. */
  blobs: string;
}

export interface Ground extends Servers {
  /** Where the processes keep what is not in a database. */
  dir: string;
  /** The password of a name. */
  key: (name: string) => string;
  token: string;
  /** Where the gateways listen, each on a port. */
  host: string;
  gatewayPorts: readonly number[];
  /** Where all others do. */
  ports: Pick<Ports, 'many'>;
  /** Where clients reach them. */
  url: string;
  /** How many there are of each other service. */
  replicas: number;
  /** Whatever else the launcher was given, for all. */
  variables: Variables;
  settings: Pick<ConfigurationSource, 'origin'>;
}

/** Every process of every service that is built. What differs from one process for all is its environment, and nothing else. */
export async function serviceMembers(ground: Ground): Promise<Member[]> {
  const members = SERVICES.filter((name) => name === 'gateway' || isBuilt(name)).flatMap((service) => {
    const count = service === 'gateway' ? ground.gatewayPorts.length : ground.replicas;
    return Array.from({ length: count }, (_, at) => [service, at] as const);
  });
  const ports = await ground.ports.many(members.length * 2 + ground.replicas);
  const blobPorts = ports.splice(members.length * 2);
  return members.map(([service, at], nth) => {
    const [metrics = 0, health = 0] = ports.slice(nth * 2);
    return serviceMember(service, at, { ...ground, blobPorts, probes: { metrics, health } });
  });
}

/** Where one process can be watched: chosen here, so that it stays where it was when it is started again. */
interface Probed {
  probes: { metrics: number; health: number };
  /** Where the replicas of the keeper serve blobs. */
  blobPorts: readonly number[];
}

function serviceMember(service: ServiceName, at: number, ground: Ground & Probed): Member {
  const replica = `${service}-${at + 1}`;
  const port = service === 'gateway' ? ground.gatewayPorts[at] : undefined;
  return {
    service,
    replica,
    command: nodeCommand(programOf(service)),
    env: {
      ...inherited(ground.variables),
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node'),
      SWITCHYARD_DATA: ground.dir,
      SWITCHYARD_REPLICA: replica,
      SWITCHYARD_METRICS_PORT: String(ground.probes.metrics),
      SWITCHYARD_HEALTH_PORT: String(ground.probes.health),
      SWITCHYARD_STORE: ground.store,
      ...busEnvironment(service, ground.bus, ground.key),
      ...blobEnvironment(service, at, ground),
      ...(service === 'secrets' ? secretsEnvironment(ground) : {}),
      ...(port === undefined ? {} : edgeEnvironment(port, ground)),
    },
    ports: {
      ...(port === undefined ? {} : { http: port }),
      ...ground.probes,
      ...(service === BLOB_KEEPER ? { blobs: ground.blobPorts[at] ?? 0 } : {}),
    },
  };
}

/** What seals secrets is for nobody else: that of whoever starts the cluster, else one that is made once. */
function secretsEnvironment({ variables, token, key }: Ground): Record<string, string> {
  const given = Object.entries(variables).filter(([name, value]) => MASTER.test(name) && value !== undefined && value !== '');
  const master =
    given.length > 0 ? (Object.fromEntries(given) as Record<string, string>) : { SECRETS_MASTER_KEY: key('secrets-master').slice(1) };
  return { SWITCHYARD_TOKEN: token, ...master };
}

/** The gateways have no way into a database, and no other service into that of the blobs: they ask the keeper, with its token. */
function blobEnvironment(service: ServiceName, at: number, { blobs, blobPorts, key }: Ground & Probed): Record<string, string> {
  const token = { SWITCHYARD_BLOB_TOKEN: key('blobs') };
  if (service === BLOB_KEEPER) return { ...token, SWITCHYARD_BLOBS: blobs, SWITCHYARD_BLOB_PORT: String(blobPorts[at]) };
  return { ...token, SWITCHYARD_BLOBS: `grpc://${blobPorts.map((port) => `127.0.0.1:${port}`).join(',')}` };
}

function edgeEnvironment(port: number, { host, url, cache, settings }: Ground): Record<string, string> {
  const unsaid = (path: string): boolean => settings.origin(path).layer === 'default';
  return {
    SWITCHYARD_HOST: host,
    SWITCHYARD_PORT: String(port),
    // The gateways count the limits of clients together; nobody else keeps anything in a cache.
    SWITCHYARD_CACHE: cache,
    ...(unsaid('gateway.drainDelayMs') ? { SWITCHYARD_GATEWAY__DRAIN_DELAY_MS: DRAIN_DELAY_MS } : {}),
    ...(unsaid('gateway.publicUrl') ? { SWITCHYARD_GATEWAY__PUBLIC_URL: url } : {}),
  };
}

/** The variables with which a user of the bus comes in. */
export function busEnvironment(user: string, bus: string, key: Ground['key']): Record<string, string> {
  return { SWITCHYARD_BUS: bus, SWITCHYARD_BUS_USER: user, SWITCHYARD_BUS_PASSWORD: key(natsKey(user)) };
}

/** Under which name the password of a user of the bus is kept. */
export function natsKey(user: string): string {
  return `nats-${user}`;
}

/** The program behind a name of `run.json`. */
export function programOf(service: string): string {
  return service === LAUNCHER ? join(root, 'scripts/cluster/main.ts') : join(root, 'services', service, 'src/main.ts');
}

function inherited(variables: Variables): Record<string, string> {
  const entries = Object.entries(variables).filter(([name, value]) => value !== undefined && !OURS.test(name) && !MASTER.test(name));
  return Object.fromEntries(entries) as Record<string, string>;
}
