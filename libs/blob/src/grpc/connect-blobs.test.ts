import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import type { BlobStore } from '../store/blob-store.ts';
import { a, collect, newHead, sha256, someBytes, TYPE } from '../contract/fixture.contract.ts';
import { openBlobStore } from '../open-blob-store.ts';
import { bytesOf, putBlob } from '../transfer/put-blob.ts';
import { readBlob } from '../transfer/read-blob.ts';
import { connectBlobs, type ConnectBlobsOptions } from './connect-blobs.ts';
import { cuttingProxy, type CuttingProxy } from './cutting-proxy.fixture.ts';
import { TOKEN } from './grpc-store.fixture.ts';
import { serveBlobs, type BlobServer, type ServeBlobsOptions } from './serve-blobs.ts';

const MIB = 1_048_576;

interface Both {
  store: BlobStore;
  server: BlobServer;
  connect(options?: Partial<ConnectBlobsOptions> & { port?: number; scheme?: string }): Promise<BlobStore>;
}

async function served(t: TestContext, options: Partial<ServeBlobsOptions> = {}): Promise<Both> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const { path } = stack.use(await tempDir());
  const log = silentLogger();
  const store = stack.adopt(await openBlobStore(`file:${path}`, { log }), (one) => one.close());
  const server = stack.use(await serveBlobs({ store, host: '127.0.0.1', port: 0, token: TOKEN, log, ...options }));
  return {
    store,
    server,
    async connect({ port = server.port, scheme = 'grpc', ...how } = {}) {
      return stack.adopt(await connectBlobs(`${scheme}://127.0.0.1:${port}`, { token: TOKEN, ...how }), (one) => one.close());
    },
  };
}

async function cut(t: TestContext): Promise<Both & { proxy: CuttingProxy; blobs: ReturnType<BlobStore['for']> }> {
  const both = await served(t);
  const proxy = await cuttingProxy(both.server.port);
  t.after(() => proxy[Symbol.asyncDispose]());
  return { ...both, proxy, blobs: (await both.connect({ port: proxy.port })).for(a) };
}

test('a write whose connection is cut, and cut again, is continued and not begun anew', async (t) => {
  const { blobs, proxy, store } = await cut(t);
  proxy.cutAfter(2 * MIB, 2 * MIB, 2 * MIB);
  const bytes = someBytes(8 * MIB);
  const asked: number[] = [];
  const { id } = await putBlob(blobs, (offset) => (asked.push(offset), bytesOf(bytes)(offset)), { contentType: TYPE });
  assert.equal(asked.length, 4);
  assert.deepEqual(
    asked,
    asked.toSorted((x, y) => x - y),
  );
  assert.ok((asked[3] ?? 0) > 4 * MIB, `the last of ${asked.join(', ')}`);
  assert.ok(proxy.bytes() < 11 * MIB, `${proxy.bytes()} bytes were carried`);
  assert.ok(bytes.equals(await collect((await store.for(a).read(id)).bytes)));
});

test('a reading whose connection is cut, and cut again, goes on where it was', async (t) => {
  const { blobs, proxy, store } = await cut(t);
  const bytes = someBytes(8 * MIB);
  const { id } = await putBlob(store.for(a), bytesOf(bytes), { contentType: TYPE });
  proxy.cutAfter(2 * MIB, 2 * MIB, 2 * MIB);
  const reading = await readBlob(blobs, id);
  assert.ok(bytes.equals(await collect(reading.bytes)));
  assert.ok(proxy.bytes() < 11 * MIB, `${proxy.bytes()} bytes were carried`);
});

test('a cut that nobody gets over is an error that may be tried again', async (t) => {
  const { blobs, proxy } = await cut(t);
  proxy.cutAfter(...Array.from({ length: 20 }, () => 10));
  await assert.rejects(putBlob(blobs, bytesOf(someBytes(10)), { contentType: TYPE }), { code: 'UNAVAILABLE', retryable: true });
});

test('who does not say the token is nobody, whatever is asked', async (t) => {
  const { connect, store } = await served(t);
  const { id } = await putBlob(store.for(a), bytesOf(someBytes(10)), { contentType: TYPE });
  for (const token of ['', `${TOKEN}x`, TOKEN.slice(1), TOKEN.toUpperCase()]) {
    const blobs = (await connect({ token })).for(a);
    const refusal = { code: 'UNAUTHENTICATED', details: { reason: 'BLOB_TOKEN' } };
    await assert.rejects(blobs.status(id), refusal);
    await assert.rejects(blobs.read(id), refusal);
    await assert.rejects(blobs.write(newHead()), refusal);
    await assert.rejects(blobs.remove(id), refusal);
  }
  assert.equal((await (await connect()).for(a).status(id)).offset, 10);
});

test('with TLS, a certificate of another authority is not spoken to, and one without ours is not answered', async (t) => {
  await using directory = await tempDir();
  const file = (name: string): string => join(directory.path, name);
  const text = (name: string): string => readFileSync(file(name), 'utf8');
  for (const name of ['server', 'stranger']) {
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file(`${name}.key`)];
    execFileSync('openssl', ['req', '-x509', ...key, '-days', '1', ...subject, '-out', file(`${name}.pem`)], { stdio: 'ignore' });
  }
  const tls = { cert: text('server.pem'), key: text('server.key') };
  const open = await served(t, { tls });
  const scheme = 'grpcs';
  const { id } = await putBlob(open.store.for(a), bytesOf(someBytes(10)), { contentType: TYPE });
  assert.equal((await (await open.connect({ scheme, tls: { ca: tls.cert } })).for(a).status(id)).offset, 10);
  await assert.rejects((await open.connect({ scheme, tls: { ca: text('stranger.pem') } })).for(a).status(id), { code: 'UNAVAILABLE' });
  await assert.rejects((await open.connect()).for(a).status(id), { code: 'UNAVAILABLE' });

  const mutual = await served(t, { tls: { ...tls, ca: tls.cert } });
  await assert.rejects((await mutual.connect({ scheme, tls: { ca: tls.cert } })).for(a).status(id), { code: 'UNAVAILABLE' });
  await assert.rejects((await mutual.connect({ scheme, tls: { ca: tls.cert, ...tls } })).for(a).status(id), { code: 'NOT_FOUND' });
});

test('a server that goes away in the middle is found again, on the same place', async (t) => {
  await using directory = await tempDir();
  const log = silentLogger();
  const start = async (port: number) => {
    const store = await openBlobStore(`file:${directory.path}`, { log });
    return { store, server: await serveBlobs({ store, host: '127.0.0.1', port, token: TOKEN, log }) };
  };
  let running = await start(0);
  const { port } = running.server;
  const client = await connectBlobs(`grpc://127.0.0.1:${port}`, { token: TOKEN });
  t.after(() => client.close());
  const bytes = someBytes(4 * MIB);
  let restarted = false;
  async function* source(offset: number) {
    for (const piece of bytesOf(bytes)(offset) as Iterable<Uint8Array>) {
      yield piece;
      if (restarted || piece.byteOffset - bytes.byteOffset < 2 * MIB) continue;
      restarted = true;
      await running.store.close();
      await running.server[Symbol.asyncDispose]();
      running = await start(port);
    }
  }
  const { id } = await putBlob(client.for(a), source, { contentType: TYPE });
  assert.equal(sha256(await collect((await running.store.for(a).read(id)).bytes)), sha256(bytes));
  await running.server[Symbol.asyncDispose]();
  await running.store.close();
});

for (const host of ['127.0.0.1', 'localhost'])
  test(`of several servers of one store another one is taken when one is away, and goes on where that was: ${host}`, async (t) => {
    await using directory = await tempDir();
    const log = silentLogger();
    const servers: BlobServer[] = [];
    const open = async (): Promise<BlobStore> => {
      const store = await openBlobStore(`file:${directory.path}`, { log });
      t.after(() => store.close());
      const server = await serveBlobs({ store, host: '127.0.0.1', port: 0, token: TOKEN, log });
      servers.push(server);
      t.after(() => server[Symbol.asyncDispose]());
      return store;
    };
    const [one] = [await open(), await open()];
    const url = `grpc://${servers.map(({ port }) => `${host}:${port}`).join(',')}`;
    const client = await openBlobStore(url, { log, remote: { token: TOKEN } });
    t.after(() => client.close());
    const bytes = someBytes(4 * MIB);
    const asked: number[] = [];
    async function* source(offset: number): AsyncGenerator<Uint8Array> {
      asked.push(offset);
      for (const piece of bytesOf(bytes)(offset) as Iterable<Uint8Array>) yield piece;
      if (asked.length > 1) return;
      await one.close(); // whatever it holds it lets go of, as when its process ends
      await servers[0]?.[Symbol.asyncDispose]();
    }
    const { id } = await putBlob(client.for(a), source, { contentType: TYPE });
    assert.ok(asked.length > 1 && (asked.at(-1) ?? 0) > 0, `asked from ${asked.join(', ')}`);
    assert.equal(sha256(await collect((await readBlob(client.for(a), id)).bytes)), sha256(bytes));
  });

test('of several names those that lead nowhere are passed over, and a server that is named twice is away as one', async (t) => {
  const { server, store } = await served(t);
  const { id } = await putBlob(store.for(a), bytesOf(someBytes(10)), { contentType: TYPE });
  const open = async (...hosts: string[]): Promise<BlobStore> => {
    const client = await openBlobStore(`grpc://${hosts.join(',')}`, { log: silentLogger(), remote: { token: TOKEN } });
    t.after(() => client.close());
    return client;
  };
  const here = `localhost:${server.port}`;
  const client = await open('nobody.invalid:1', 'localhost:1', here, here);
  assert.equal((await client.for(a).status(id)).offset, 10);
  const nowhere = await open('nobody.invalid:1', 'neither.invalid:2');
  await assert.rejects(nowhere.for(a).status(id), { code: 'UNAVAILABLE' });
  await server[Symbol.asyncDispose]();
  const began = Date.now();
  await assert.rejects((await open(here, here, `127.0.0.1:${server.port}`)).for(a).status(id), { code: 'UNAVAILABLE' });
  assert.ok(Date.now() - began < 3_000);
});

test('several servers are named with their ports', async () => {
  for (const url of ['grpc://a,b', 'grpc://a:1,b', 'grpc://a:1,', 'grpc://a:1,b:x', 'grpc://a:1,b c:2', 'grpc://u@a:1,b:2'])
    await assert.rejects(openBlobStore(url, { log: silentLogger(), remote: { token: TOKEN } }), { code: 'FAILED_PRECONDITION' }, url);
});
