import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { inspect } from 'node:util';
import { after, before, test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { startMongo, type MongoServer } from '@switchyard/testkit';
import { openStore } from '../../index.ts';
import { parseStoreUrl } from './store-url.ts';
import { connect } from './connect.ts';

let server: MongoServer;
before(async () => {
  server = await startMongo();
});
after(() => server.stop());

async function assertRejects(url: string, code: string, sentence: RegExp): Promise<void> {
  await assert.rejects(openStore(url, { service: 'sessions' }), (error) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, code, url);
    assert.match(error.message, sentence);
    assert.ok(!inspect(error, { depth: 9 }).includes('hunter2'), 'a password was repeated');
    return true;
  });
}

test('rejects an invalid URL and unknown options with one sentence without the password', async () => {
  const host = new URL(server.url).host;
  const notAUrl = /^the store URL is not a URL of MongoDB; use mongodb:\/\/user:password@host:port\/name /;
  await assertRejects('mongodb://', 'FAILED_PRECONDITION', notAUrl);
  await assertRejects('mongodb:///name', 'FAILED_PRECONDITION', notAUrl);
  await assertRejects('mongodb://me:hunter2@/hunter2@host', 'FAILED_PRECONDITION', /^the store URL has a path/);
  await assertRejects(`mongodb://me:hunter2%@${host}`, 'FAILED_PRECONDITION', notAUrl);
  await assertRejects(
    `mongodb://me:hunter2@${host}/a.b`,
    'FAILED_PRECONDITION',
    /^the store URL has a path that is not a valid prefix of a database name/,
  );
  await assertRejects(
    `mongodb://me:hunter2@${host}/?colour=hunter2`,
    'FAILED_PRECONDITION',
    /has options that are unknown to MongoDB \(colour\)/,
  );
});

test('rejects wrong credentials with one sentence that names the user and authSource', async () => {
  const { host } = new URL(server.url);
  await assertRejects(
    `mongodb://sessions:hunter2@${host}/x?authSource=acme`,
    'FAILED_PRECONDITION',
    /^the database at 127\.0\.0\.1:\d+ rejects the user sessions, or its password; the user is expected in the database acme \(authSource\)$/,
  );
});

test('fails UNAVAILABLE within seconds without a server', async () => {
  const nobody = createServer().listen(0, '127.0.0.1');
  await once(nobody, 'listening');
  const { port } = nobody.address() as AddressInfo;
  nobody.close();
  const began = performance.now();
  await assertRejects(`mongodb://me:hunter2@127.0.0.1:${port}/x`, 'UNAVAILABLE', /^the database at 127\.0\.0\.1:\d+ cannot be reached$/);
  assert.ok(performance.now() - began < 8_000);
});

test('sets timeouts, pool size and write concern that the URL cannot weaken', async () => {
  const url = new URL(server.url);
  for (const [name, value] of Object.entries({
    w: '1',
    journal: 'false',
    readConcernLevel: 'local',
    readPreference: 'nearest',
    retryWrites: 'false',
  }))
    url.searchParams.set(name, value);
  await using client = await connect(parseStoreUrl(url.href), 'test');
  const { options } = client;
  assert.deepEqual([options.writeConcern.w, options.writeConcern.j], ['majority', true]);
  assert.equal(options.readConcern.level, 'majority');
  assert.equal(options.readPreference.mode, 'primary');
  assert.equal(options.retryWrites, true);
  const { serverSelectionTimeoutMS, connectTimeoutMS, socketTimeoutMS, waitQueueTimeoutMS, maxPoolSize } = options;
  for (const ms of [serverSelectionTimeoutMS, connectTimeoutMS, socketTimeoutMS, waitQueueTimeoutMS]) assert.ok(ms > 0 && ms <= 12_000);
  assert.equal(maxPoolSize, 50);
});
