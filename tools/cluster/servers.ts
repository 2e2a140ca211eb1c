import { mkdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { natsUsers } from '@switchyard/bus';
import { findNatsServer, findRedisServer } from '@switchyard/testkit';
import type { Crew } from './crew.ts';
import { freePort } from './free-port.ts';
import { runJob } from './job.ts';
import { nodeCommand, type Member } from './member.ts';
import { busEnvironment, natsKey, type Servers } from './services.ts';

const HOST = '127.0.0.1';
const POLL_MS = 50;
const NATS_CONFIGURATION = fileURLToPath(new URL('../../deploy/nats/nats-server.conf', import.meta.url));
const PROVISION = fileURLToPath(new URL('../../deploy/nats/provision.ts', import.meta.url));
const PROVISIONER = 'provisioner';

export interface StartServers {
  /** What they keep goes below. */
  dir: string;
  /** The password of a name. */
  key: (name: string) => string;
  crew: Crew;
  stack: AsyncDisposableStack;
  signal: AbortSignal;
}

/** A server that the services need, and how they reach it. */
interface Server {
  member: Member;
  url: string;
}

/** Starts what the services stand on, all at once, and makes what the bus keeps. */
export async function startServers(options: StartServers): Promise<Servers> {
  const { dir, key, crew, stack, signal } = options;
  const [nats, redis] = await Promise.all([natsServer(options), redisServer(options)]);
  signal.throwIfAborted();
  stack.use(crew.start([nats.member, redis.member]));
  const provision = runJob(nodeCommand(PROVISION), { SWITCHYARD_CONFIG: ':', ...busEnvironment(PROVISIONER, nats.url, key) }, signal);
  await Promise.all([provision, awaitListening(redis.member.ports['redis'] ?? 0, signal)]);
  return { bus: nats.url, store: `sqlite:${join(dir, 'store')}`, cache: redis.url };
}

/** The bus with the configuration that is delivered: JetStream, and a user for each service. */
async function natsServer({ dir, key }: StartServers): Promise<Server> {
  const [binary, port] = [await findNatsServer(), await freePort()];
  const passwords = natsUsers().map(({ name }) => [`NATS_${name.toUpperCase()}_PASSWORD`, key(natsKey(name))] as const);
  return {
    url: `nats://${HOST}:${port}`,
    member: {
      service: 'nats',
      replica: 'nats',
      command: [binary, '-c', NATS_CONFIGURATION, '-a', HOST, '-p', String(port)],
      env: { NATS_STORE: join(dir, 'nats'), ...Object.fromEntries(passwords) },
      ports: { nats: port },
    },
  };
}

/** What replicas share and may lose: nothing of it is written to the disk. */
async function redisServer({ dir, key }: StartServers): Promise<Server> {
  const [binary, port] = [await findRedisServer(), await freePort()];
  const password = key('redis');
  const own = join(dir, 'redis');
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const file = join(own, 'redis.conf');
  const lines = [`bind ${HOST}`, `port ${port}`, `dir ${JSON.stringify(own)}`, `requirepass ${password}`, 'save ""', 'appendonly no'];
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 }); // on the command line everybody could read the password
  return {
    url: `redis://:${password}@${HOST}:${port}`,
    member: { service: 'redis', replica: 'redis', command: [binary, file], env: {}, ports: { redis: port } },
  };
}

/** Until somebody takes connections there. */
async function awaitListening(port: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const socket = connect(port, HOST);
    try {
      await once(socket, 'connect', { signal });
      return;
    } catch {
      await sleep(POLL_MS, undefined, { signal });
    } finally {
      socket.destroy();
    }
  }
}
