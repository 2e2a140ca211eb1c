import { fileURLToPath } from 'node:url';
import { listBuiltServices, SERVICES } from '@switchyard/contracts';
import { startNatsServer, startProcess, type NatsServer, type StartedProcess } from '@switchyard/testkit';

const root = fileURLToPath(new URL('../../', import.meta.url));

export const TOKEN = 'operator-chosen-'.padEnd(40, 'x');

/** All users of the generated configuration. */
export const USERS = [...SERVICES, 'provisioner', 'operator'] as const;

export function getPassword(user: string): string {
  return `pass-of-${user}`;
}

/** Starts nats-server with a delivered configuration. */
export function startDeliveredServer({ file = 'nats-server.conf', env = {} }: Delivered = {}): Promise<NatsServer> {
  const passwords = Object.fromEntries(USERS.map((user) => [`NATS_${user.toUpperCase()}_PASSWORD`, getPassword(user)]));
  return startNatsServer({ file: `${root}deploy/nats/${file}`, env: { ...passwords, ...env } });
}

interface Delivered {
  /** The file, relative to `deploy/nats`. */
  file?: string;
  /** Variables of the file other than passwords. */
  env?: Readonly<Record<string, string>>;
}

/** Runs the provisioning job to its end. */
export async function provision(
  server: NatsServer,
  env: Readonly<Record<string, string>> = busEnv(server, 'provisioner'),
): Promise<string> {
  await using job = await startProcess([process.execPath, `${root}deploy/nats/provision.ts`], { env: { ...env, SWITCHYARD_CONFIG: ':' } });
  const { code } = await job.exited;
  return `${code} ${job.output()}`;
}

export function startProvisioner(server: NatsServer, ...words: string[]): Promise<StartedProcess> {
  const env = { ...busEnv(server, 'provisioner'), SWITCHYARD_CONFIG: ':' };
  return startProcess([process.execPath, `${root}deploy/nats/provision.ts`, ...words], { env });
}

/** Like `provision`, with this number of streams for turn frames. */
export function provisionStreams(server: NatsServer, streams: string): Promise<string> {
  return provision(server, { ...busEnv(server, 'provisioner'), SWITCHYARD_TURN_STREAMS: streams });
}

export function busEnv(server: NatsServer, user: string): Record<string, string> {
  return { SWITCHYARD_BUS: server.url, SWITCHYARD_BUS_USER: user, SWITCHYARD_BUS_PASSWORD: getPassword(user) };
}

export const BUILT = listBuiltServices();

/** Time for all services to start on a busy machine. */
const START_TIMEOUT_MS = 60_000;

export interface StartOneOptions {
  data: string;
  ready: RegExp;
  /** The repository with the program, this one by default. */
  repository?: string;
  env?: Readonly<Record<string, string>>;
}

/** Starts a service in a process of its own with its NATS user. */
export function startOne(server: NatsServer, service: string, options: StartOneOptions): Promise<StartedProcess> {
  const env = {
    HOME: options.data,
    SWITCHYARD_DATA: options.data,
    SWITCHYARD_CONFIG: ':',
    SWITCHYARD_PORT: '0',
    SWITCHYARD_TOKEN: TOKEN,
    ...busEnv(server, service),
    ...options.env,
  };
  return startProcess([process.execPath, `${options.repository ?? root}services/${service}/src/main.ts`], {
    env,
    ready: options.ready,
    timeoutMs: START_TIMEOUT_MS,
  });
}
