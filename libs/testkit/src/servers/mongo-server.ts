import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dropDatabases, makeReplicaSet } from './mongo-admin.ts';
import { findMongo } from './mongo-binary.ts';
import { startServer, type ServerProcess } from '../processes/server-process.ts';
import { readSharedServers } from './shared-servers.ts';

const START_MS = 30_000;

export interface MongoServer {
  /** Names databases that are nobody else's: the path begins their names. */
  readonly url: string;
  /** What it is, for a reader of a test run. */
  readonly name: string;
  /** MongoDB itself, with users, `$jsonSchema` and write concern; else a stand-in, which has single documents and no more. */
  readonly real: boolean;
  /** Removes what was stored under the URL, and ends the server if it was started for it. */
  stop(): Promise<void>;
}

/** A server of one's own, to be hurt: what was stored outlives a crash. */
export interface OwnMongoServer extends MongoServer, Pick<ServerProcess, 'port' | 'pid' | 'kill' | 'restart' | 'pause' | 'goOn'> {}

export interface OwnMongoOptions {
  /** Keeps what is stored there; otherwise it goes with the server. */
  directory?: string;
  port?: number;
}

let announced: string | undefined;

/** Databases on the server of `SWITCHYARD_TEST_MONGO_URL`, else of the test run, else on a server of its own. */
export async function startMongo(): Promise<MongoServer> {
  const external = process.env['SWITCHYARD_TEST_MONGO_URL'];
  if (external !== undefined && external !== '')
    return openDatabases({ url: external, name: 'the server of SWITCHYARD_TEST_MONGO_URL', real: true });
  const shared = readSharedServers()?.mongo;
  return shared === undefined ? startOwnMongo() : openDatabases(shared);
}

function openDatabases({ url: server, name, real }: Pick<MongoServer, 'url' | 'name' | 'real'>): MongoServer {
  const url = new URL(server);
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  url.pathname = `/${prefix}`;
  announce(name);
  return { url: url.href, name, real, stop: () => dropDatabases(server, `${prefix}_`) };
}

/** What `findMongo` finds, on a free port of 127.0.0.1 unless one is named. It ends with this process. */
export async function startOwnMongo({ directory, port: wanted }: OwnMongoOptions = {}): Promise<OwnMongoServer> {
  const { name, real, command, ready } = await findMongo();
  announce(name);
  const data = directory ?? (await mkdtemp(join(tmpdir(), 'switchyard-mongo-')));
  const prepare = (port: number, deadline: number): Promise<void> => makeReplicaSet(`mongodb://127.0.0.1:${port}`, deadline);
  const program = { name, command: (port: number) => command(data, port), ready, startMs: START_MS };
  const server = await startServer(real ? { ...program, prepare } : program, wanted);
  const { port } = server;
  return {
    url: `mongodb://127.0.0.1:${port}/test${real ? '?replicaSet=rs0' : ''}`,
    name,
    real,
    port,
    get pid() {
      return server.pid;
    },
    kill: () => server.kill(),
    restart: () => server.restart(),
    pause: () => server.pause(),
    goOn: () => server.goOn(),
    async stop() {
      await server.end(directory === undefined ? 'SIGKILL' : 'SIGTERM');
      if (directory === undefined) await rm(data, { recursive: true, force: true });
    },
  };
}

function announce(name: string): void {
  if (announced !== name) process.stderr.write(`MongoDB is ${name}\n`);
  announced = name;
}
