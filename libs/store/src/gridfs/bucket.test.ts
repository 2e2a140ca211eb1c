import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { GridFSBucket, MongoClient } from 'mongodb';
import { startMongo, type MongoServer } from '@switchyard/testkit';
import { openBucket } from '../index.ts';
import { databaseName, readAddress } from '../mongodb/address.ts';
import type { Bucket } from './bucket.ts';

const PIECE = 261_120;
const FACTS = { contentType: 'a/b', expiresAt: 2_000_000_000_000 };

let server: MongoServer;
before(async () => {
  server = await startMongo();
});
after(() => server.stop());

async function opened(t: { after(end: () => Promise<void>): void }, service: string): Promise<Bucket> {
  const bucket = await openBucket(server.url, { service });
  t.after(() => bucket.close());
  return bucket;
}

test('files are those of GridFS: the driver reads them, from any offset', async (t) => {
  const bucket = await opened(t, 'driver');
  const bytes = randomBytes(2 * PIECE + 7);
  const key = { tenant: 'a', id: 'one' };
  const upload = await bucket.open(key, FACTS);
  for (let at = 0; at < bytes.length; at += 100_000) await upload.append(bytes.subarray(at, at + 100_000));
  await upload.commit('00');

  const address = readAddress(server.url);
  const client = await MongoClient.connect(address.url);
  t.after(() => client.close());
  const files = new GridFSBucket(client.db(databaseName(address, 'driver')), { bucketName: 'blobs' });
  const [file] = await files.find({ filename: 'one' }).toArray();
  assert.deepEqual([file?.length, file?.chunkSize], [bytes.length, PIECE]);
  assert.ok(bytes.equals(await buffer(files.openDownloadStreamByName('one'))));
  assert.ok(bytes.subarray(PIECE - 1).equals(await buffer(files.openDownloadStreamByName('one', { start: PIECE - 1, end: bytes.length }))));
});

test('whoever opens an upload takes it from the one before, in another process too', async (t) => {
  const [one, other] = [await opened(t, 'taken'), await opened(t, 'taken')];
  const key = { tenant: 'a', id: 'one' };
  const bytes = randomBytes(PIECE);
  const first = await one.open(key, FACTS);
  await first.append(bytes.subarray(0, 10));
  await first.release();
  const second = await other.open(key, FACTS);
  assert.equal(second.length, 10);
  await assert.rejects(first.append(bytes), { code: 'ABORTED' });
  await assert.rejects(first.commit('00'), { code: 'ABORTED' });
  await second.append(bytes.subarray(10));
  const { savedAt = 0, ...kept } = await second.commit('00');
  assert.deepEqual(kept, { ...FACTS, length: PIECE, sha256: '00' });
  assert.ok(Math.abs(Date.now() - savedAt) < 60_000);
  await assert.rejects(one.open(key, FACTS), { code: 'ALREADY_EXISTS' });
});

test('an upload that is swept away, and a file that was removed, leave no piece behind', async (t) => {
  const bucket = await opened(t, 'swept');
  const [half, whole] = [
    { tenant: 'a', id: 'half' },
    { tenant: 'a', id: 'whole' },
  ];
  const upload = await bucket.open(half, FACTS);
  await upload.append(randomBytes(PIECE + 1));
  await upload.release();
  const done = await bucket.open(whole, FACTS);
  await done.append(randomBytes(PIECE + 1));
  await done.commit('00');
  assert.equal(await bucket.sweep(0, 0), 0);
  assert.equal(await bucket.sweep(0, Date.now() + 1), 1);
  await bucket.remove(whole);

  const address = readAddress(server.url);
  const client = await MongoClient.connect(address.url);
  t.after(() => client.close());
  for (const { name } of await client.db(databaseName(address, 'swept')).listCollections().toArray())
    assert.deepEqual([name, (await client.db(databaseName(address, 'swept')).collection(name).find().toArray()).length], [name, 0]);
});

test('another URL keeps no files', async () => {
  await assert.rejects(openBucket('sqlite:x', { service: 'x' }), { code: 'FAILED_PRECONDITION', details: { reason: 'STORE_URL' } });
});
