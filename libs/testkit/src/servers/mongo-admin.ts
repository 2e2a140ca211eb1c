import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient, MongoServerError } from 'mongodb';

const POLL_MS = 50;
const ALREADY_INITIALIZED = 23;

/** Short timeouts, so that tests of fail-over are fast. */
const QUICK = { electionTimeoutMillis: 1_500, heartbeatIntervalMillis: 300, heartbeatTimeoutSecs: 1 };

/** Initiates a replica set, unless it exists, and waits until the first member accepts writes. */
export async function makeReplicaSet(url: string, deadline: number, hosts: readonly string[] = [new URL(url).host]): Promise<void> {
  await using client = await new MongoClient(url, { directConnection: true }).connect();
  const admin = client.db('admin');
  // The member with the highest priority becomes the first primary.
  const members = hosts.map((host, at) => ({ _id: at, host, priority: at === 0 ? 2 : 1 }));
  const settings = hosts.length === 1 ? {} : { settings: QUICK };
  await admin.command({ replSetInitiate: { _id: 'rs0', members, ...settings } }).catch((error: unknown) => {
    if (!(error instanceof MongoServerError) || error.code !== ALREADY_INITIALIZED) throw error;
  });
  // `isMaster` works with servers of all versions.
  while (!(await admin.command({ isMaster: 1 }))['ismaster']) {
    if (Date.now() > deadline) throw new Error('the replica set did not choose a primary');
    await delay(POLL_MS);
  }
}

/** Drops all databases whose names begin with the prefix. */
export async function dropDatabases(url: string, prefix: string): Promise<void> {
  await using client = await new MongoClient(url).connect();
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  for (const { name } of databases) if (name.startsWith(prefix)) await client.db(name).dropDatabase();
}
