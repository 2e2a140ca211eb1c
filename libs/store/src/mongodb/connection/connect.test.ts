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

async function refuses(url: string, code: string, sentence: RegExp): Promise<void> {
  await assert.rejects(openStore(url, { service: 'sessions' }), (error) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, code, url);
    assert.match(error.message, sentence);
    assert.ok(!inspect(error, { depth: 9 }).includes('hunter2'), 'a password was repeated');
    return true;
  });
}

test('a URL that is none, or has what MongoDB does not know, is one sentence without the password', async () => {
  const host = new URL(server.url).host;
  const notAUrl = /^the store URL is not a URL of MongoDB; write mongodb:\/\/user:password@host:port\/name, /;
  await refuses('mongodb://', 'FAILED_PRECONDITION', notAUrl);
  await refuses('mongodb:///name', 'FAILED_PRECONDITION', notAUrl);
  await refuses('mongodb://me:hunter2@/hunter2@host', 'FAILED_PRECONDITION', /^the store URL has a path/);
  await refuses(`mongodb://me:hunter2%@${host}`, 'FAILED_PRECONDITION', notAUrl);
  await refuses(
    `mongodb://me:hunter2@${host}/a.b`,
    'FAILED_PRECONDITION',
    /^the store URL has a path that cannot begin the name of a database/,
  );
  await refuses(`mongodb://me:hunter2@${host}/?colour=hunter2`, 'FAILED_PRECONDITION', /has options that MongoDB does not know \(colour\)/);
});

test('credentials that are refused are one sentence, which names the user and where users are looked for', async () => {
  const { host } = new URL(server.url);
  await refuses(
    `mongodb://sessions:hunter2@${host}/x?authSource=acme`,
    'FAILED_PRECONDITION',
    /^the database at 127\.0\.0\.1:\d+ refuses the user sessions, or its password; users are looked for in the database acme \(authSource\)$/,
  );
});

test('a server that is not there is UNAVAILABLE, within seconds', async () => {
  const nobody = createServer().listen(0, '127.0.0.1');
  await once(nobody, 'listening');
  const { port } = nobody.address() as AddressInfo;
  nobody.close();
  const began = performance.now();
  await refuses(`mongodb://me:hunter2@127.0.0.1:${port}/x`, 'UNAVAILABLE', /^the database at 127\.0\.0\.1:\d+ cannot be reached$/);
  assert.ok(performance.now() - began < 8_000);
});

test('every wait has its end, the pool its bound, and nothing in the URL weakens what a write means', async () => {
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
