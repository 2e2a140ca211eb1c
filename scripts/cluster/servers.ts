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
/** A database that was not closed cleanly looks through its journal first. */
const MONGO_START_MS = 60_000;
const NATS_CONFIGURATION = fileURLToPath(new URL('../../deploy/nats/nats-server.conf', import.meta.url));
const PROVISION = fileURLToPath(new URL('../../deploy/nats/provision.ts', import.meta.url));
const PROVISIONER = 'provisioner';

export interface StartServers {
  /** What they keep goes below. */
  dir: string;
  /** The password of a name. */
  key: (name: string) => string;
  ports: Ports;
  crew: Crew;
  stack: AsyncDisposableStack;
  /** Aborts when the start is given up. */
  signal: AbortSignal;
  /** Aborts when the cluster is to end. */
  ending: AbortSignal;
  /** A line for whoever waits. */
  say: (line: string) => void;
}

/** A server that the services need, and how they reach it. */
interface Server {
  member: Member;
  url: string;
}

/** Starts what the services stand on, all at once, and makes what the bus keeps. */
export async function startServers(options: StartServers): Promise<Servers> {
  const { key, crew, stack, signal, ending, say } = options;
  const slow = setTimeout(say, PATIENCE_MS, 'looks for NATS, MongoDB and Redis, and installs what is missing');
  const [nats, mongo, redis] = await Promise.all([natsServer(options), mongoServer(options), redisServer(options)]).finally(() =>
    clearTimeout(slow),
  );
  signal.throwIfAborted();
  // What the bus keeps in memory goes with it, and no service may make it anew.
  const provision = (given: AbortSignal): Promise<void> =>
    runJob(nodeCommand(PROVISION), { SWITCHYARD_CONFIG: ':', ...turnStreams(), ...busEnvironment(PROVISIONER, nats.url, key) }, given);
  stack.use(crew.start([{ ...nats.member, restarted: () => provision(ending) }, mongo.member, redis.member]));
  await Promise.all([provision(signal), mongo.prepare(signal), awaitListening(redis.member.ports['redis'] ?? 0, signal)]);
  return { bus: nats.url, store: mongo.url, cache: redis.url, blobs: mongo.blobs };
}

/** Read by the job alone, which checks it. */
function turnStreams(): Record<string, string> {
  const streams = process.env['SWITCHYARD_TURN_STREAMS'];
  return streams === undefined ? {} : { SWITCHYARD_TURN_STREAMS: streams };
}

/** The bus with the configuration that is delivered: JetStream, and a user for each service. */
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

/** Documents and, where it is one, blobs. A MongoDB is a replica set of one, which knows itself by its port, so that stays what it was. */
async function mongoServer({
  dir,
  ports,
  say,
}: StartServers): Promise<Server & { blobs: string; prepare: (signal: AbortSignal) => Promise<void> }> {
  const { name, real, command } = await findMongo();
  if (!real) say(`has no MongoDB here, and takes ${name}`);
  const own = join(dir, real ? 'mongodb' : 'mongodb-stand-in');
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const before = readPrivately(dir, 'mongodb-port');
  const port = await ports.one(before === undefined ? undefined : Number(before));
  if (real && before !== undefined && port !== Number(before))
    throw new StartError(`port ${before} is in use, and the database in ${own} is bound to it. End what has it, or move ${own} away.`);
  keepPrivately(dir, 'mongodb-port', String(port));
  const address = `mongodb://${HOST}:${port}`;
  const url = real ? `${address}/?replicaSet=rs0` : address;
  return {
    url,
    blobs: real ? url : `file:${join(dir, 'blobs')}`, // large files are more than the stand-in is for
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

/** What replicas share and may lose: nothing of it is written to the disk. */
async function redisServer({ dir, key, ports }: StartServers): Promise<Server> {
  const [binary, port] = [await findRedisServer(), await ports.one()];
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
