import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { makeReplicaSet } from './mongo-admin.ts';
import { findMongoOfUbuntu, MONGO_OF_UBUNTU } from './mongo-of-ubuntu.ts';
import { findMongo } from './mongo-server-binary.ts';
import { startServer, type ServerProcess } from './server-process.ts';
import { tempDir } from './temp-dir.ts';
import { startWireRelay } from './wire-relay.ts';

const START_MS = 30_000;
/** The least that the driver takes: what MongoDB 4.4 speaks. */
const WIRE_VERSION = 9;

/** Several servers of MongoDB itself that keep the same, one of which takes the writes. */
export interface MongoSet extends AsyncDisposable {
  readonly url: string;
  /** What they are, for a reader of a test run. */
  readonly name: string;
  /** In their order. */
  readonly members: readonly ServerProcess[];
  /** Which of them takes the writes now. */
  primary(): Promise<ServerProcess>;
}

interface Program {
  name: string;
  command: (directory: string, port: number) => string[];
  ready: RegExp;
  older: boolean;
}

/** Undefined, and `onMissing` is told why, where MongoDB itself cannot be had. */
export async function startMongoSet(size: number, onMissing: (why: string) => void): Promise<MongoSet | undefined> {
  const program = await findProgram(onMissing);
  if (program === undefined) return undefined;
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(await tempDir());
  const members: ServerProcess[] = [];
  const ports: number[] = [];
  for (let at = 0; at < size; at += 1) {
    const directory = join(path, String(at));
    await mkdir(directory);
    const { name, ready } = program;
    const member = await startServer({ name, command: (port) => program.command(directory, port), ready, startMs: START_MS });
    starting.defer(() => member.end('SIGKILL'));
    members.push(member);
    ports.push(program.older ? await relayed(member, starting) : member.port);
  }
  const hosts = ports.map((port) => `127.0.0.1:${port}`);
  await makeReplicaSet(`mongodb://${hosts[0]}`, Date.now() + START_MS, hosts);
  const url = `mongodb://${hosts.join(',')}/test?replicaSet=rs0`;
  const stack = starting.move();
  return {
    url,
    name: program.name,
    members,
    async primary() {
      await using client = await new MongoClient(url).connect();
      const { primary } = await client.db('admin').command({ isMaster: 1 });
      const member = members[hosts.indexOf(String(primary))];
      if (member === undefined) throw new Error(`${String(primary)} is none of ${hosts.join(', ')}`);
      return member;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function relayed(member: ServerProcess, stack: AsyncDisposableStack): Promise<number> {
  const relay = await startWireRelay(() => member.port, WIRE_VERSION);
  stack.defer(() => relay.stop());
  return relay.port;
}

async function findProgram(onMissing: (why: string) => void): Promise<Program | undefined> {
  const found = await findMongo().catch(() => undefined);
  if (found?.real === true) return { ...found, older: false };
  try {
    const command = await findMongoOfUbuntu();
    const alone = ['--bind_ip', '127.0.0.1', '--nounixsocket', '--replSet', 'rs0', '--wiredTigerCacheSizeGB', '0.25'];
    return {
      name: MONGO_OF_UBUNTU,
      command: (directory, port) => [...command, ...alone, '--dbpath', directory, '--port', String(port)],
      ready: /waiting for connections/,
      older: true,
    };
  } catch (error) {
    onMissing(`needs MongoDB itself: ${found?.name ?? 'nothing was found'}, and ${MONGO_OF_UBUNTU} cannot be had (${reason(error)})`);
    return undefined;
  }
}

function reason(error: unknown): string {
  const written = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  return (written === '' ? String(error) : written).split('\n').at(-1) ?? '';
}
