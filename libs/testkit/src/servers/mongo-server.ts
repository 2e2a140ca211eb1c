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
  /** The path is the prefix of the database names, which only this caller uses. */
  readonly url: string;
  /** Name for the output of a test run. */
  readonly name: string;
  /** True for MongoDB itself, with users, `$jsonSchema` and write concern; false for the stand-in. */
  readonly real: boolean;
  /** Drops the databases of the URL and ends a server that was started for them. */
  stop(): Promise<void>;
}

/** A dedicated server for failure tests. Its data survives a crash. */
export interface OwnMongoServer extends MongoServer, Pick<ServerProcess, 'port' | 'pid' | 'kill' | 'restart' | 'pause' | 'goOn'> {}

export interface OwnMongoOptions {
  /** Data directory that survives `stop`; by default a temporary directory. */
  directory?: string;
  port?: number;
}

let announced: string | undefined;

/** Opens databases on the server of `SWITCHYARD_TEST_MONGO_URL`, of the test run, or on a new server. */
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

/** Starts the server found by `findMongo` on the given or a free port of 127.0.0.1. It ends with this process. */
export async function startOwnMongo({ directory, port: requestedCount }: OwnMongoOptions = {}): Promise<OwnMongoServer> {
  const { name, real, command, ready } = await findMongo();
  announce(name);
  const data = directory ?? (await mkdtemp(join(tmpdir(), 'switchyard-mongo-')));
  const prepare = (port: number, deadline: number): Promise<void> => makeReplicaSet(`mongodb://127.0.0.1:${port}`, deadline);
  const program = { name, command: (port: number) => command(data, port), ready, startMs: START_MS };
  const server = await startServer(real ? { ...program, prepare } : program, requestedCount);
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
