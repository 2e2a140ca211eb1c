import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { MongoClient, type Collection } from 'mongodb';
import { startMongo, startOwnMongo } from './mongo-server.ts';
import { startProcess } from '../processes/test-process.ts';
import { tempDir } from '../processes/temp-dir.ts';

const IMPATIENT = { serverSelectionTimeoutMS: 3_000, socketTimeoutMS: 1_000, connectTimeoutMS: 1_000 };

test('a server keeps data through a crash and does not respond while paused', async (t) => {
  const server = await startOwnMongo();
  t.after(() => server.stop());
  // A new client each time, because a client may not reconnect after a crash (decision 0007).
  const sendRequest = async <T>(what: (things: Collection<{ _id: number }>) => Promise<T>): Promise<T> => {
    await using client = new MongoClient(server.url, IMPATIENT);
    return await what(client.db('test').collection('things'));
  };
  const find = () => sendRequest((things) => things.findOne({ _id: 1 }));
  await sendRequest((things) => things.insertOne({ _id: 1 }));
  await wait(1_000); // the stand-in saves with a delay
  await server.kill();
  await assert.rejects(find());
  await server.restart();
  assert.deepEqual(await find(), { _id: 1 });
  server.pause();
  await assert.rejects(find());
  server.goOn();
  assert.deepEqual(await find(), { _id: 1 });
});

test('each start has its own databases and removes them', async () => {
  const [one, other] = await Promise.all([startMongo(), startMongo()]);
  assert.notEqual(one.url, other.url);
  await Promise.all([one.stop(), other.stop()]);
});

test('a directory keeps the data of a stopped server', async (t) => {
  await using directory = await tempDir();
  for (const round of [0, 1]) {
    const server = await startOwnMongo({ directory: directory.path });
    t.after(() => server.stop());
    await using client = await new MongoClient(server.url, IMPATIENT).connect();
    const things = client.db('test').collection<{ _id: number }>('things');
    assert.equal(await things.countDocuments({}), round);
    await things.insertOne({ _id: round });
    await client.close();
    await server.stop();
  }
});

test('reports a port in use', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  assert.ok(typeof address === 'object' && address !== null);
  await assert.rejects(startOwnMongo({ port: address.port }), /already in use/i);
  taken.close();
});

test('a server ends with its parent process', async () => {
  const program = `
    const { startOwnMongo } = await import(${JSON.stringify(import.meta.resolve('./mongo-server.ts'))});
    console.log('pid ' + (await startOwnMongo()).pid);
    setInterval(() => {}, 1_000);`;
  await using child = await startProcess([process.execPath, '--input-type=module', '-e', program], { ready: /pid (\d+)/ });
  const pid = Number(child.ready[1]);
  assert.equal(isRunning(pid), true);
  await child.end('SIGKILL');
  while (isRunning(pid)) await wait(20);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
