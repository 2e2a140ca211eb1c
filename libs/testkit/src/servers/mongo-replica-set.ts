import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { makeReplicaSet } from './mongo-admin.ts';
import { findMongo, type MongoProgram } from './mongo-binary.ts';
import { startServer, type ServerProcess } from '../processes/server-process.ts';
import { tempDir } from '../processes/temp-dir.ts';

const START_MS = 30_000;

/** A replica set of real MongoDB servers. */
export interface MongoSet extends AsyncDisposable {
  readonly url: string;
  /** Name for the output of a test run. */
  readonly name: string;
  readonly members: readonly ServerProcess[];
  /** Returns the current primary. */
  primary(): Promise<ServerProcess>;
}

/** Returns undefined and calls `onMissing` with the reason when no real MongoDB is available. */
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
    ports.push(member.port);
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

async function findProgram(onMissing: (why: string) => void): Promise<MongoProgram | undefined> {
  const found = await findMongo().catch(() => undefined);
  if (found?.real === true) return found;
  onMissing(`requires a real MongoDB server; found ${found?.name ?? 'none'}`);
  return undefined;
}
