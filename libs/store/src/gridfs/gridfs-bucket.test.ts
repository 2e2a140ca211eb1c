import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { GridFSBucket, MongoClient, type Db } from 'mongodb';
import { startMongo, type MongoServer } from '@switchyard/testkit';
import { openBucket } from '../index.ts';
import { buildDatabaseName, parseStoreUrl } from '../mongodb/connection/store-url.ts';
import type { Bucket } from './bucket.ts';

const CHUNK_BYTES = 261_120;
const OPTIONS = { contentType: 'a/b', expiresAt: 2_000_000_000_000 };

let server: MongoServer;
before(async () => {
  server = await startMongo();
});
after(() => server.stop());

interface TestLifetime {
  after(end: () => Promise<void>): void;
}

async function open(t: TestLifetime, service: string): Promise<Bucket> {
  const bucket = await openBucket(server.url, { service });
  t.after(() => bucket.close());
  return bucket;
}

async function openDatabase(t: TestLifetime, service: string): Promise<Db> {
  const address = parseStoreUrl(server.url);
  const client = await MongoClient.connect(address.url);
  t.after(() => client.close());
  return client.db(buildDatabaseName(address, service));
}

test('stores files that the driver reads as GridFS', async (t) => {
  const bucket = await open(t, 'driver');
  const bytes = randomBytes(2 * CHUNK_BYTES + 7);
  const upload = await bucket.upload({ tenant: 'a', id: 'one' }, OPTIONS);
  for (let start = 0; start < bytes.length; start += 100_000) await upload.append(bytes.subarray(start, start + 100_000));
  await upload.commit('00');

  const files = new GridFSBucket(await openDatabase(t, 'driver'), { bucketName: 'blobs' });
  const [file] = await files.find({ filename: 'one' }).toArray();
  assert.deepEqual([file?.length, file?.chunkSize], [bytes.length, CHUNK_BYTES]);
  assert.ok(bytes.equals(await buffer(files.openDownloadStreamByName('one'))));
});

test('reads any range of a file larger than one read window', async (t) => {
  const bucket = await open(t, 'ranges');
  const key = { tenant: 'a', id: 'one' };
  const bytes = randomBytes(9 * CHUNK_BYTES + 7);
  const upload = await bucket.upload(key, OPTIONS);
  await upload.append(bytes);
  await upload.commit('00');
  for (const [from, to] of [
    [0, bytes.length],
    [4 * CHUNK_BYTES - 1, 4 * CHUNK_BYTES + 1],
    [CHUNK_BYTES, 9 * CHUNK_BYTES],
    [bytes.length - 1, bytes.length],
    [5, 5],
  ] as const) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of bucket.read(key, from, to)) chunks.push(chunk);
    assert.ok(bytes.subarray(from, to).equals(Buffer.concat(chunks)), `${from} to ${to}`);
  }
});

test('publishes the first committed upload of a key and rejects the second', async (t) => {
  const [one, other] = [await open(t, 'parallel'), await open(t, 'parallel')];
  const key = { tenant: 'a', id: 'one' };
  const [first, second] = [await one.upload(key, OPTIONS), await other.upload(key, OPTIONS)];
  await first.append(randomBytes(10));
  await second.append(randomBytes(CHUNK_BYTES));
  assert.equal(await one.find(key), undefined);
  const { savedAt, ...file } = await second.commit('00');
  assert.deepEqual(file, { ...OPTIONS, length: CHUNK_BYTES, sha256: '00' });
  assert.ok(Math.abs(Date.now() - savedAt) < 60_000);
  await assert.rejects(first.commit('00'), { code: 'ALREADY_EXISTS' });
  await first.abort();
  assert.equal((await one.find(key))?.length, CHUNK_BYTES);
  assert.equal(await one.find({ ...key, tenant: 'b' }), undefined);
});

test('leaves no document behind after abort, sweep and remove', async (t) => {
  const bucket = await open(t, 'swept');
  const key = { tenant: 'a', id: 'complete' };
  const aborted = await bucket.upload({ tenant: 'a', id: 'aborted' }, OPTIONS);
  await aborted.append(randomBytes(CHUNK_BYTES + 1));
  await aborted.abort();
  const abandoned = await bucket.upload({ tenant: 'a', id: 'abandoned' }, OPTIONS);
  await abandoned.append(randomBytes(CHUNK_BYTES + 1));
  const complete = await bucket.upload(key, OPTIONS);
  await complete.append(randomBytes(CHUNK_BYTES + 1));
  await complete.commit('00');
  assert.equal(await bucket.sweep(0, 0), 0);
  assert.equal(await bucket.sweep(0, Date.now() + 1), 1);
  await assert.rejects(abandoned.commit('00'), { code: 'ABORTED' });
  await bucket.remove(key);
  await bucket.remove(key);

  const database = await openDatabase(t, 'swept');
  for (const { name } of await database.listCollections().toArray())
    assert.deepEqual([name, (await database.collection(name).find().toArray()).length], [name, 0]);
});

test('fails NOT_FOUND when the file is deleted while it is read', async (t) => {
  const bucket = await open(t, 'deleted');
  const key = { tenant: 'a', id: 'one' };
  const upload = await bucket.upload(key, OPTIONS);
  await upload.append(randomBytes(9 * CHUNK_BYTES));
  await upload.commit('00');
  const chunks = bucket.read(key, 0, 9 * CHUNK_BYTES);
  await chunks.next();
  await bucket.remove(key);
  await assert.rejects(
    async () => {
      for (;;) if ((await chunks.next()).done === true) return;
    },
    { code: 'NOT_FOUND' },
  );
});

test('rejects a store URL of another database', async () => {
  await assert.rejects(openBucket('sqlite:x', { service: 'x' }), { code: 'FAILED_PRECONDITION', details: { reason: 'STORE_URL' } });
});
