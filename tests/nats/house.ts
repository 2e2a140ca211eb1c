import { fileURLToPath } from 'node:url';
import { SERVICES } from '@switchyard/contracts';
import { startNatsServer, startProcess, type NatsServer, type StartedProcess } from '@switchyard/testkit';

const root = fileURLToPath(new URL('../../', import.meta.url));

export const TOKEN = 'operator-chosen-'.padEnd(40, 'x');

/** Everybody in the generated configuration. */
export const USERS = [...SERVICES, 'provisioner', 'operator'] as const;

export function passwordOf(user: string): string {
  return `pass-of-${user}`;
}

/** A real server with the configuration that is delivered. */
export function startDeliveredServer({ file = 'nats-server.conf', env = {} }: Delivered = {}): Promise<NatsServer> {
  const passwords = Object.fromEntries(USERS.map((user) => [`NATS_${user.toUpperCase()}_PASSWORD`, passwordOf(user)]));
  return startNatsServer({ file: `${root}deploy/nats/${file}`, env: { ...passwords, ...env } });
}

interface Delivered {
  /** Below `deploy/nats`. */
  file?: string;
  /** What that file refers to besides passwords. */
  env?: Readonly<Record<string, string>>;
}

/** The job that makes what the bus keeps, until its end. */
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

/** As `provision`, with the frames of turns in so many streams. */
export function provisionStreams(server: NatsServer, streams: string): Promise<string> {
  return provision(server, { ...busEnv(server, 'provisioner'), SWITCHYARD_TURN_STREAMS: streams });
}

export function busEnv(server: NatsServer, user: string): Record<string, string> {
  return { SWITCHYARD_BUS: server.url, SWITCHYARD_BUS_USER: user, SWITCHYARD_BUS_PASSWORD: passwordOf(user) };
}

export const BUILT = ['secrets', 'registry', 'sessions', 'memory', 'gateway'] as const;

/** One service in a process of its own, as the user that is meant for it. */
export function startOne(server: NatsServer, service: string, given: { data: string; ready: RegExp }): Promise<StartedProcess> {
  const env = {
    HOME: given.data,
    SWITCHYARD_DATA: given.data,
    SWITCHYARD_CONFIG: ':',
    SWITCHYARD_PORT: '0',
    SWITCHYARD_TOKEN: TOKEN,
    ...busEnv(server, service),
  };
  return startProcess([process.execPath, `${root}services/${service}/src/main.ts`], { env, ready: given.ready });
}
