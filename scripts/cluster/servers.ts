import { mkdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { natsUsers } from '@switchyard/bus';
import { keepPrivately, readPrivately } from '@switchyard/launcher';
import { findMongo, findNatsServer, findRedisServer, makeReplicaSet } from '@switchyard/testkit';
import { StartError } from '@switchyard/service-kit';
import type { Crew } from './crew.ts';
import { runJob } from './job.ts';
import { nodeCommand, type Member } from './member.ts';
import type { Ports } from './ports.ts';
import { busEnvironment, natsKey, type Servers } from './services.ts';

const HOST = '127.0.0.1';
const POLL_MS = 50;
const PATIENCE_MS = 3_000;
/** A database that was not closed cleanly replays its journal first. */
const MONGO_START_MS = 60_000;
const NATS_CONFIGURATION = fileURLToPath(new URL('../../deploy/nats/nats-server.conf', import.meta.url));
const PROVISION = fileURLToPath(new URL('../../deploy/nats/provision.ts', import.meta.url));
const PROVISIONER = 'provisioner';

export interface StartServers {
  /** Parent of the data directories. */
  dir: string;
  /** Returns the password of a name. */
  key: (name: string) => string;
  ports: Ports;
  crew: Crew;
  stack: AsyncDisposableStack;
  /** Aborts when the start fails or is cancelled. */
  signal: AbortSignal;
  /** Aborts when the cluster shuts down. */
  ending: AbortSignal;
  /** Prints a progress line. */
  say: (line: string) => void;
}

/** A server of the cluster and its address. */
interface Server {
  member: Member;
  url: string;
}

/** Starts NATS, MongoDB and Redis in parallel, then creates the streams and buckets of the bus. */
export async function startServers(options: StartServers): Promise<Servers> {
  const { key, crew, stack, signal, ending, say } = options;
  const slow = setTimeout(say, PATIENCE_MS, 'finds or installs NATS, MongoDB and Redis');
  const [nats, mongo, redis] = await Promise.all([natsServer(options), mongoServer(options), redisServer(options)]).finally(() =>
    clearTimeout(slow),
  );
  signal.throwIfAborted();
  // Streams in memory are lost when NATS restarts, and services have no permission to create them.
  const provision = (given: AbortSignal): Promise<void> =>
    runJob(nodeCommand(PROVISION), { SWITCHYARD_CONFIG: ':', ...turnStreams(), ...busEnvironment(PROVISIONER, nats.url, key) }, given);
  stack.use(crew.start([{ ...nats.member, restarted: () => provision(ending) }, mongo.member, redis.member]));
  await Promise.all([provision(signal), mongo.prepare(signal), awaitListening(redis.member.ports['redis'] ?? 0, signal)]);
  return { bus: nats.url, store: mongo.url, cache: redis.url, blobs: mongo.blobs };
}

/** The environment of the provisioning job. */
function turnStreams(): Record<string, string> {
  const streams = process.env['SWITCHYARD_TURN_STREAMS'];
  return streams === undefined ? {} : { SWITCHYARD_TURN_STREAMS: streams };
}

/** NATS with the delivered configuration: JetStream and a user per service. */
async function natsServer({ dir, key, ports }: StartServers): Promise<Server> {
  const [binary, port] = [await findNatsServer(), await ports.one()];
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

/** Stores documents and, in a real MongoDB, blobs. The replica set of one member is bound to its port, so the port stays the same. */
async function mongoServer({
  dir,
  ports,
  say,
}: StartServers): Promise<Server & { blobs: string; prepare: (signal: AbortSignal) => Promise<void> }> {
  const { name, real, command } = await findMongo();
  if (!real) say(`MongoDB is not installed; using ${name}`);
  const own = join(dir, real ? 'mongodb' : 'mongodb-stand-in');
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const before = readPrivately(dir, 'mongodb-port');
  const port = await ports.one(before === undefined ? undefined : Number(before));
  if (real && before !== undefined && port !== Number(before))
    throw new StartError(
      `port ${before} is in use, and the database in ${own} is bound to it. End the process that uses it, or move ${own} away.`,
    );
  keepPrivately(dir, 'mongodb-port', String(port));
  const address = `mongodb://${HOST}:${port}`;
  const url = real ? `${address}/?replicaSet=rs0` : address;
  return {
    url,
    blobs: real ? url : `file:${join(dir, 'blobs')}`, // the stand-in is not made for large files
    member: {
      service: 'mongodb',
      replica: real ? 'mongodb' : 'mongodb-stand-in',
      command: command(own, port),
      env: { PATH: process.env['PATH'] ?? '' },
      readsInput: !real,
      ports: { mongodb: port },
    },
    async prepare(signal) {
      await awaitListening(port, signal);
      if (real) await makeReplicaSet(address, Date.now() + MONGO_START_MS);
    },
  };
}

/** Redis without persistence: replicas share only what they may lose. */
async function redisServer({ dir, key, ports }: StartServers): Promise<Server> {
  const [binary, port] = [await findRedisServer(), await ports.one()];
  const password = key('redis');
  const own = join(dir, 'redis');
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const file = join(own, 'redis.conf');
  const lines = [`bind ${HOST}`, `port ${port}`, `dir ${JSON.stringify(own)}`, `requirepass ${password}`, 'save ""', 'appendonly no'];
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 }); // a password on the command line is visible to all users
  return {
    url: `redis://:${password}@${HOST}:${port}`,
    member: { service: 'redis', replica: 'redis', command: [binary, file], env: {}, ports: { redis: port } },
  };
}

/** Waits until the port accepts connections. */
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
