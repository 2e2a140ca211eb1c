import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listBuiltServices, type ServiceName } from '@switchyard/contracts';
import type { ConfigurationSource, Variables } from '@switchyard/service-kit';
import { nodeCommand, type Member } from './member.ts';
import type { Ports } from './ports.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Variables that the launcher sets itself, per process. They are not inherited. */
const OURS =
  /^SWITCHYARD_(DATA|TOKEN|URL|REPLICA|BUS(_\w+)?|STORE|CACHE|HOST|PORT|(METRICS|HEALTH)_PORT|PROBE_HOST|BLOBS|BLOB_(TOKEN|PORT|HOST)|GATEWAY__(HOST|PORT))(_FILE)?$/;

const MASTER = /^SECRETS_MASTER_KEY/;

/** Default of gateway.drainDelayMs here. Within this time the balancer's probe notices that a gateway is draining. */
const DRAIN_DELAY_MS = '1000';

/** The name of the launcher in `run.json`. */
export const LAUNCHER = 'cluster';

/** Stores large payloads and serves them to the other services. The registry has the least load of the services with a database. */
const BLOB_KEEPER: ServiceName = 'registry';

/** Addresses of the servers that the services use. */
export interface Servers {
  bus: string;
  store: string;
  cache: string;
  /** Storage address of the blob keeper. */
  blobs: string;
}

export interface Ground extends Servers {
  /** Directory for files of the processes. */
  dir: string;
  /** Returns the password of a user or purpose. */
  key: (name: string) => string;
  token: string;
  /** The host of the gateways; each has a port of its own. */
  host: string;
  gatewayPorts: readonly number[];
  /** Allocates the ports of all other processes. */
  ports: Pick<Ports, 'many'>;
  /** The address for clients. */
  url: string;
  /** Number of replicas of each service other than the gateway. */
  replicas: number;
  /** The environment of the launcher; its other variables are passed to every process. */
  variables: Variables;
  settings: Pick<ConfigurationSource, 'origin'>;
}

/** Returns the processes of all built services. They differ from the single-process profile in their environment only. */
export async function serviceMembers(ground: Ground): Promise<Member[]> {
  const members = listBuiltServices().flatMap((service) => {
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

/** Ports that the launcher chooses, so that a restarted process keeps them. */
interface Probed {
  probes: { metrics: number; health: number };
  /** Ports on which the replicas of the blob keeper serve blobs. */
  blobPorts: readonly number[];
}

function serviceMember(service: ServiceName, at: number, ground: Ground & Probed): Member {
  const replica = `${service}-${at + 1}`;
  const port = service === 'gateway' ? ground.gatewayPorts[at] : undefined;
  return {
    service,
    replica,
    command: nodeCommand(getProgram(service)),
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

/** Only the secrets service gets the master key: the one of the launcher's environment, else one that is generated once. */
function secretsEnvironment({ variables, token, key }: Ground): Record<string, string> {
  const inputs = Object.entries(variables).filter(([name, value]) => MASTER.test(name) && value !== undefined && value !== '');
  const master =
    inputs.length > 0 ? (Object.fromEntries(inputs) as Record<string, string>) : { SECRETS_MASTER_KEY: key('secrets-master').slice(1) };
  return { SWITCHYARD_TOKEN: token, ...master };
}

/** Only the blob keeper opens the blob storage. All other services read blobs from it over gRPC, with a token. */
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
    // Only the gateways use the cache: they share the counters of rate limits.
    SWITCHYARD_CACHE: cache,
    ...(unsaid('gateway.drainDelayMs') ? { SWITCHYARD_GATEWAY__DRAIN_DELAY_MS: DRAIN_DELAY_MS } : {}),
    ...(unsaid('gateway.publicUrl') ? { SWITCHYARD_GATEWAY__PUBLIC_URL: url } : {}),
  };
}

/** Variables with the bus address and the credentials of a NATS user. */
export function busEnvironment(user: string, bus: string, key: Ground['key']): Record<string, string> {
  return { SWITCHYARD_BUS: bus, SWITCHYARD_BUS_USER: user, SWITCHYARD_BUS_PASSWORD: key(natsKey(user)) };
}

/** The key name of a NATS user's password. */
export function natsKey(user: string): string {
  return `nats-${user}`;
}

/** Returns the program of a service name in `run.json`. */
export function getProgram(service: string): string {
  return service === LAUNCHER ? join(root, 'scripts/cluster/main.ts') : join(root, 'services', service, 'src/main.ts');
}

function inherited(variables: Variables): Record<string, string> {
  const entries = Object.entries(variables).filter(([name, value]) => value !== undefined && !OURS.test(name) && !MASTER.test(name));
  return Object.fromEntries(entries) as Record<string, string>;
}
