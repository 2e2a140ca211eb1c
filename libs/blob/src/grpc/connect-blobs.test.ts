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
import { createSource, putBlob } from '../transfer/put-blob.ts';
import { readBlob } from '../transfer/read-blob.ts';
import { connectBlobs, type ConnectBlobsOptions } from './connect-blobs.ts';
import { startCuttingProxy, type CuttingProxy } from './cutting-proxy.fixture.ts';
import { TOKEN } from './grpc-store.fixture.ts';
import { serveBlobs, type BlobServer, type ServeBlobsOptions } from './serve-blobs.ts';

const MIB = 1_048_576;

interface TestServer {
  store: BlobStore;
  server: BlobServer;
  connect(options?: Partial<ConnectBlobsOptions> & { port?: number; scheme?: string }): Promise<BlobStore>;
}

async function startTestServer(t: TestContext, options: Partial<ServeBlobsOptions> = {}): Promise<TestServer> {
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

async function startBehindProxy(t: TestContext): Promise<TestServer & { proxy: CuttingProxy; blobs: ReturnType<BlobStore['for']> }> {
  const testServer = await startTestServer(t);
  const proxy = await startCuttingProxy(testServer.server.port);
  t.after(() => proxy[Symbol.asyncDispose]());
  return { ...testServer, proxy, blobs: (await testServer.connect({ port: proxy.port })).for(a) };
}

test('putBlob starts again after a cut connection', async (t) => {
  const { blobs, proxy, store } = await startBehindProxy(t);
  proxy.cutAfter(2 * MIB, 2 * MIB);
  const bytes = someBytes(4 * MIB);
  const ref = await putBlob(blobs, createSource(bytes), { contentType: TYPE });
  assert.ok(proxy.bytes() > 7 * MIB, `forwarded ${proxy.bytes()} bytes`);
  assert.ok(bytes.equals(await collect((await store.for(a).read(ref.id)).bytes)));
});

test('readBlob continues at the current offset after a cut connection', async (t) => {
  const { blobs, proxy, store } = await startBehindProxy(t);
  const bytes = someBytes(8 * MIB);
  const { id } = await putBlob(store.for(a), createSource(bytes), { contentType: TYPE });
  proxy.cutAfter(2 * MIB, 2 * MIB, 2 * MIB);
  const reading = await readBlob(blobs, id);
  assert.ok(bytes.equals(await collect(reading.bytes)));
  assert.ok(proxy.bytes() < 11 * MIB, `forwarded ${proxy.bytes()} bytes`);
});

test('putBlob fails UNAVAILABLE when every connection is cut', async (t) => {
  const { blobs, proxy } = await startBehindProxy(t);
  proxy.cutAfter(...Array.from({ length: 20 }, () => 10));
  await assert.rejects(putBlob(blobs, createSource(someBytes(10)), { contentType: TYPE }), { code: 'UNAVAILABLE', retryable: true });
});

test('rejects every call without the token', async (t) => {
  const { connect, store } = await startTestServer(t);
  const { id } = await putBlob(store.for(a), createSource(someBytes(10)), { contentType: TYPE });
  for (const token of ['', `${TOKEN}x`, TOKEN.slice(1), TOKEN.toUpperCase()]) {
    const blobs = (await connect({ token })).for(a);
    const expected = { code: 'UNAUTHENTICATED', details: { reason: 'BLOB_TOKEN' } };
    await assert.rejects(blobs.status(id), expected);
    await assert.rejects(blobs.read(id), expected);
    await assert.rejects(blobs.write(newHead()), expected);
    await assert.rejects(blobs.remove(id), expected);
  }
  assert.equal((await (await connect()).for(a).status(id)).size, 10);
});

test('verifies the server certificate, and the client certificate if the server has a ca', async (t) => {
  await using directory = await tempDir();
  const file = (name: string): string => join(directory.path, name);
  const text = (name: string): string => readFileSync(file(name), 'utf8');
  for (const name of ['server', 'untrusted']) {
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file(`${name}.key`)];
    execFileSync('openssl', ['req', '-x509', ...key, '-days', '1', ...subject, '-out', file(`${name}.pem`)], { stdio: 'ignore' });
  }
  const tls = { cert: text('server.pem'), key: text('server.key') };
  const oneWay = await startTestServer(t, { tls });
  const scheme = 'grpcs';
  const { id } = await putBlob(oneWay.store.for(a), createSource(someBytes(10)), { contentType: TYPE });
  assert.equal((await (await oneWay.connect({ scheme, tls: { ca: tls.cert } })).for(a).status(id)).size, 10);
  await assert.rejects((await oneWay.connect({ scheme, tls: { ca: text('untrusted.pem') } })).for(a).status(id), { code: 'UNAVAILABLE' });
  await assert.rejects((await oneWay.connect()).for(a).status(id), { code: 'UNAVAILABLE' });

  const mutual = await startTestServer(t, { tls: { ...tls, ca: tls.cert } });
  await assert.rejects((await mutual.connect({ scheme, tls: { ca: tls.cert } })).for(a).status(id), { code: 'UNAVAILABLE' });
  await assert.rejects((await mutual.connect({ scheme, tls: { ca: tls.cert, ...tls } })).for(a).status(id), { code: 'NOT_FOUND' });
});

test('putBlob completes after the server restarts on the same port', async (t) => {
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
  async function* source() {
    for (const chunk of createSource(bytes)() as Iterable<Uint8Array>) {
      yield chunk;
      if (restarted || chunk.byteOffset - bytes.byteOffset < 2 * MIB) continue;
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
  test(`uses another server of the store when one is down: ${host}`, async (t) => {
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
    let attempts = 0;
    async function* source(): AsyncGenerator<Uint8Array> {
      attempts += 1;
      for (const chunk of createSource(bytes)() as Iterable<Uint8Array>) yield chunk;
      if (attempts > 1) return;
      await one.close();
      await servers[0]?.[Symbol.asyncDispose]();
    }
    const { id } = await putBlob(client.for(a), source, { contentType: TYPE });
    assert.equal(attempts, 2);
    assert.equal(sha256(await collect((await readBlob(client.for(a), id)).bytes)), sha256(bytes));
  });

test('ignores names that do not resolve, and fails promptly when a duplicate server is down', async (t) => {
  const { server, store } = await startTestServer(t);
  const { id } = await putBlob(store.for(a), createSource(someBytes(10)), { contentType: TYPE });
  const open = async (...hosts: string[]): Promise<BlobStore> => {
    const client = await openBlobStore(`grpc://${hosts.join(',')}`, { log: silentLogger(), remote: { token: TOKEN } });
    t.after(() => client.close());
    return client;
  };
  const address = `localhost:${server.port}`;
  const client = await open('unknown.invalid:1', 'localhost:1', address, address);
  assert.equal((await client.for(a).status(id)).size, 10);
  const unreachable = await open('unknown.invalid:1', 'other.invalid:2');
  await assert.rejects(unreachable.for(a).status(id), { code: 'UNAVAILABLE' });
  await server[Symbol.asyncDispose]();
  const startedAt = Date.now();
  await assert.rejects((await open(address, address, `127.0.0.1:${server.port}`)).for(a).status(id), { code: 'UNAVAILABLE' });
  assert.ok(Date.now() - startedAt < 3_000);
});

test('rejects a list of servers without ports', async () => {
  for (const url of ['grpc://a,b', 'grpc://a:1,b', 'grpc://a:1,', 'grpc://a:1,b:x', 'grpc://a:1,b c:2', 'grpc://u@a:1,b:2'])
    await assert.rejects(openBlobStore(url, { log: silentLogger(), remote: { token: TOKEN } }), { code: 'FAILED_PRECONDITION' }, url);
});
