import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient, MongoServerError } from 'mongodb';

const POLL_MS = 50;
const ALREADY_INITIALIZED = 23;

/** Makes a server that was just started a replica set of one, unless it is, and waits until it takes writes. */
export async function makeReplicaSet(url: string, deadline: number): Promise<void> {
  await using client = await new MongoClient(url, { directConnection: true }).connect();
  const admin = client.db('admin');
  const members = [{ _id: 0, host: new URL(url).host }];
  await admin.command({ replSetInitiate: { _id: 'rs0', members } }).catch((error: unknown) => {
    if (!(error instanceof MongoServerError) || error.code !== ALREADY_INITIALIZED) throw error;
  });
  while (!(await admin.command({ hello: 1 }))['isWritablePrimary']) {
    if (Date.now() > deadline) throw new Error('the replica set did not choose a primary');
    await delay(POLL_MS);
  }
}

/** Removes the databases whose names begin so. */
export async function dropDatabases(url: string, prefix: string): Promise<void> {
  await using client = await new MongoClient(url).connect();
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  for (const { name } of databases) if (name.startsWith(prefix)) await client.db(name).dropDatabase();
}
