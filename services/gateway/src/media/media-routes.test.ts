import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createSource, mintBlobId, openBlobStore, putBlob, type BlobStore } from '@switchyard/blob';
import { PAYLOAD_TYPE } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import { SECRETS, startTestGateway, type TestGateway } from '../gateway.fixture.ts';

interface MediaSetup extends AsyncDisposable {
  gateway: TestGateway;
  store: BlobStore;
  clock: { now: number };
  /** Stores a file and returns its id. */
  put(text: string | Uint8Array, contentType?: string, tenant?: string): Promise<string>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
}

/** A gateway with a blob store whose clock the test controls. */
async function start(): Promise<MediaSetup> {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const clock = { now: Date.now() };
  const store = await openBlobStore(`file:${directory.path}/blobs`, { log: silentLogger(), now: () => clock.now });
  starting.defer(() => store.close());
  const gateway = starting.use(await startTestGateway({ blobs: () => Promise.resolve(store) }));
  const started = starting.move();
  return {
    gateway,
    store,
    clock,
    put: async (text, contentType = 'text/plain', tenant = 'default') =>
      (await putBlob(store.for({ tenant }), createSource(typeof text === 'string' ? Buffer.from(text) : text), { contentType })).id,
    get: (path, headers = {}) => fetch(`${gateway.url}/media/${path}`, { headers: { authorization: `Bearer ${SECRETS.rpc}`, ...headers } }),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

test('returns a stored file with its type and nosniff', async () => {
  await using stage = await start();
  const bytes = randomBytes(1_000_000);
  const response = await stage.get(await stage.put(bytes, 'image/png'));
  assert.deepEqual(
    ['content-type', 'content-length', 'x-content-type-options', 'cache-control', 'accept-ranges'].map((name) =>
      response.headers.get(name),
    ),
    ['image/png', '1000000', 'nosniff', 'private, no-cache', 'bytes'],
  );
  assert.match(response.headers.get('content-disposition') ?? '', /^inline; filename="blob_[0-9A-Za-z]{22}"$/);
  assert.match(response.headers.get('content-security-policy') ?? '', /sandbox/);
  assert.ok(bytes.equals(Buffer.from(await response.arrayBuffer())));
  assert.equal(response.status, 200);
});

test('executable content is sent as a download', async () => {
  await using stage = await start();
  for (const [type, disposition] of [
    ['text/html', 'attachment'],
    ['image/svg+xml', 'attachment'],
    ['application/xhtml+xml', 'attachment'],
    ['application/pdf', 'attachment'],
    ['text/plain; charset=utf-8', 'inline'],
    ['audio/ogg', 'inline'],
    ['video/mp4', 'inline'],
  ] as const) {
    const response = await stage.get(await stage.put('x', type));
    assert.ok(response.headers.get('content-disposition')?.startsWith(disposition), type);
    assert.equal(response.headers.get('content-type'), type);
    await response.body?.cancel();
  }
});

test('derives a missing content type from the extension', async () => {
  await using stage = await start();
  const id = await stage.put('x', 'application/octet-stream');
  const getType = async (path: string) => (await stage.get(path)).headers.get('content-type');
  assert.equal(await getType(`${id}.PNG`), 'image/png');
  assert.equal(await getType(`${id}.exe`), 'application/octet-stream');
  assert.equal(await getType(id), 'application/octet-stream');
  assert.equal(await getType(`${await stage.put('x', 'text/html')}.png`), 'text/html');
});

test('returns a range, and 416 with the size for a range beyond the end', async () => {
  await using stage = await start();
  const id = await stage.put('0123456789');
  const part = await stage.get(id, { range: 'bytes=2-4' });
  assert.deepEqual(
    [part.status, await part.text(), part.headers.get('content-range'), part.headers.get('content-length')],
    [206, '234', 'bytes 2-4/10', '3'],
  );
  const outOfRange = await stage.get(id, { range: 'bytes=10-' });
  assert.deepEqual(
    [outOfRange.status, await outOfRange.json(), outOfRange.headers.get('content-range')],
    [416, { error: 'Range not satisfiable' }, 'bytes */10'],
  );
  const etag = part.headers.get('etag') ?? '';
  assert.equal((await stage.get(id, { range: 'bytes=2-4', 'if-range': etag })).status, 206);
  assert.equal(await (await stage.get(id, { range: 'bytes=2-4', 'if-range': '"other"' })).text(), '0123456789');
  const unchanged = await stage.get(id, { 'if-none-match': `"other", ${etag}` });
  assert.deepEqual([unchanged.status, await unchanged.text()], [304, '']);
  const empty = await stage.get(await stage.put(''));
  assert.deepEqual([empty.status, await empty.text()], [200, '']);
});

test('returns the metadata of a file', async () => {
  await using stage = await start();
  const before = Date.now();
  const id = await stage.put('hello', 'audio/ogg');
  const { savedAt, expiresAt, ...rest } = (await (await stage.get(`${id}/meta`)).json()) as { savedAt: number; expiresAt: number };
  assert.deepEqual(rest, { contentType: 'audio/ogg', size: 5 });
  assert.ok(savedAt >= before && savedAt <= Date.now() && expiresAt > savedAt);
});

test('rejects unknown, invalid and expired files and files of other tenants', async () => {
  await using stage = await start();
  const [own, foreign, payload] = [
    await stage.put('mine'),
    await stage.put('x', 'text/plain', 'other'),
    await stage.put('{}', PAYLOAD_TYPE),
  ];
  for (const end of ['', '/meta']) {
    for (const [id, status, error] of [
      [mintBlobId(), 404, 'Not found'],
      ['0123456789abcdef.png', 404, 'Not found'],
      [foreign, 404, 'Not found'],
      [payload, 404, 'Not found'],
      ['a%2Fb', 400, 'Invalid media id'],
      ['..%2F..%2Fetc', 400, 'Invalid media id'],
      ['a b', 400, 'Invalid media id'],
      ['%00', 400, 'Invalid media id'],
    ] as const) {
      const response = await stage.get(id + end);
      assert.deepEqual([response.status, await response.json()], [status, { error }], id + end);
    }
  }
  stage.clock.now += 7_200_000;
  for (const end of ['', '/meta']) {
    const response = await stage.get(own + end);
    assert.deepEqual([response.status, await response.json()], [410, { error: 'Media expired' }]);
  }
});

test('requires scope rpc and accepts the token in the query', async () => {
  await using stage = await start();
  const id = await stage.put('x');
  for (const path of [id, `${id}/meta`]) {
    const status = async (token: string) => (await stage.get(path, { authorization: `Bearer ${token}` })).status;
    assert.deepEqual(
      [await status(SECRETS.mcp), await status(SECRETS.admin), await status(SECRETS.all), await status('x')],
      [403, 403, 200, 401],
    );
    assert.equal((await fetch(`${stage.gateway.url}/media/${path}?token=${SECRETS.rpc}`)).status, 200);
  }
});

test('releases the transfer of a client that disconnects', async () => {
  await using stage = await start();
  const id = await stage.put(Buffer.alloc(20_000_000));
  for (let times = 0; times < 70; times += 1) {
    const disconnect = new AbortController();
    const response = await fetch(`${stage.gateway.url}/media/${id}`, {
      headers: { authorization: `Bearer ${SECRETS.rpc}` },
      signal: disconnect.signal,
    });
    assert.equal(response.status, 200, `after ${times} disconnects`);
    disconnect.abort();
  }
});

test('returns 503 without a blob store', async () => {
  await using gateway = await startTestGateway();
  const response = await fetch(`${gateway.url}/media/${mintBlobId()}`, { headers: { authorization: `Bearer ${SECRETS.rpc}` } });
  assert.equal(response.status, 503);
});
