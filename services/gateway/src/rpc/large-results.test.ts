import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { test } from 'node:test';
import { openBlobStore } from '@switchyard/blob';
import type { Handlers, LargePayloads } from '@switchyard/bus';
import type { sessions } from '@switchyard/contracts';
import { largePayloads } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import { SECRETS, startTestGateway, type Answer, type TestGateway } from '../gateway.fixture.ts';

const MB = 1_000_000;
const CALL = { jsonrpc: '2.0', id: 'é1', method: 'session.export', params: { session_key: 'default:alice:gateway' } };
/** Longer than any reader needs for one chunk. */
const IDLE_MS = 500;
const BODY = JSON.stringify(CALL);

/** The blob store of the gateway. */
interface WatchedStore extends LargePayloads {
  /** Fetched bytes. */
  fetched: number;
  /** Since when a chunk is waiting, by `performance.now()`. */
  offeredAt: number;
  /** The number of blobs. */
  blobCount: number;
  /** The store fails after this many bytes. */
  failAfter: number;
  /** A read waits that long for its first bytes. */
  readDelayMs: number;
  /** The current number of reads, and the largest so far. */
  reads: number;
  maxReads: number;
}

const exported = (megabytes: number, size = MB) => ({
  sessionKey: 'default:alice:gateway',
  messages: Array.from({ length: megabytes }, (_, n) => ({ role: 'user', content: `${n}`.padEnd(size, 'x') })),
  metadata: {},
  messageCount: megabytes,
  createdAt: 1,
  updatedAt: 2,
});

async function withGateway(
  content: number | ReturnType<typeof exported>,
  run: (gateway: TestGateway, store: WatchedStore) => Promise<void>,
): Promise<void> {
  await using directory = await tempDir();
  const store = await openBlobStore(`file:${directory.path}/blobs`, { log: silentLogger() });
  const result = typeof content === 'number' ? exported(content) : content;
  const handlers: Handlers<typeof sessions> = { 'session.export': () => result };
  try {
    const large = watch(largePayloads(() => Promise.resolve(store), silentLogger()));
    await using gateway = await startTestGateway({ handlers, large });
    await run(gateway, large);
  } finally {
    await store.close();
  }
}

function watch(large: LargePayloads): WatchedStore {
  const watched: WatchedStore = {
    fetched: 0,
    offeredAt: Infinity,
    blobCount: 0,
    failAfter: Infinity,
    readDelayMs: 0,
    reads: 0,
    maxReads: 0,
    async put(...args) {
      const id = await large.put(...args);
      watched.blobCount++;
      return id;
    },
    async *read(...args) {
      watched.maxReads = Math.max(watched.maxReads, ++watched.reads);
      try {
        if (watched.readDelayMs > 0) await delay(watched.readDelayMs);
        for await (const piece of large.read(...args)) {
          if (watched.fetched >= watched.failAfter) throw new TypeError('the disk is gone');
          watched.fetched += piece.length;
          watched.offeredAt = performance.now();
          yield piece;
          watched.offeredAt = Infinity;
        }
      } finally {
        watched.reads--;
      }
    },
    forget(...args) {
      watched.blobCount--;
      large.forget(...args);
    },
  };
  return watched;
}

/** A response that is not read yet. */
async function post(url: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${SECRETS.all}`, 'content-type': 'application/json' };
  const clientRequest = request(`${url}/rpc`, { method: 'POST', headers }).end(BODY);
  const [response] = (await once(clientRequest, 'response')) as [IncomingMessage];
  return response;
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn();
}

test('POST /rpc streams a large result with its length and leaves nothing in the store', async () => {
  await withGateway(20, async (gateway, store) => {
    const response = await gateway.post('/rpc', BODY, { token: SECRETS.all });
    const text = await response.text();
    assert.equal(Number(response.headers.get('content-length')), Buffer.byteLength(text));
    assert.equal(text, JSON.stringify({ jsonrpc: '2.0', result: exported(20), id: 'é1' }));
    assert.deepEqual([store.blobCount, store.fetched > 20 * MB], [0, true]);
  });
});

test('stops fetching while the client does not read, and continues afterwards', { timeout: 60_000 }, async () => {
  await withGateway(40, async (gateway, store) => {
    const response = await post(gateway.url);
    // The socket buffers take some megabytes. When they are full, no further chunk is fetched.
    await waitUntil(() => store.blobCount === 0 || performance.now() - store.offeredAt > IDLE_MS);
    assert.ok(store.fetched < 12 * MB, `${store.fetched} bytes were fetched without a reader`);
    let bytes = 0;
    for await (const piece of response as AsyncIterable<Buffer>) bytes += piece.length;
    assert.equal(bytes, Number(response.headers['content-length']));
    assert.equal(store.blobCount, 0);
  });
});

test('leaves nothing in the store when the client disconnects', async () => {
  await withGateway(40, async (gateway, store) => {
    const response = await post(gateway.url);
    await once(response, 'readable');
    response.destroy();
    await waitUntil(() => store.blobCount === 0);
    assert.ok(store.fetched < 30 * MB);
  });
});

test('closes the connection on a failure after the first chunk and returns an error before it', async () => {
  await withGateway(9, async (gateway, store) => {
    store.failAfter = MB;
    const response = await post(gateway.url);
    await assert.rejects(response.toArray(), { code: 'ECONNRESET' });
    assert.equal(store.blobCount, 0);
    store.failAfter = 0;
    const answer = (await (await gateway.post('/rpc', BODY, { token: SECRETS.all })).json()) as Answer;
    const { code, reason, retryable } = answer.error?.data ?? {};
    assert.deepEqual([answer.id, code, reason, retryable], ['é1', 'UNAVAILABLE', 'PAYLOAD_LOST', true]);
    assert.equal(store.blobCount, 0);
  });
});

test('batches and WebSockets get results up to 8 MB, and an error with the remedy above', async () => {
  await withGateway(8, async (gateway, store) => {
    const socket = await gateway.connect();
    assert.deepEqual((await socket.request(CALL)).result, exported(8));
    const [batched] = (await (await gateway.post('/rpc', `[${BODY}]`, { token: SECRETS.all })).json()) as [Answer];
    assert.deepEqual(batched.result, exported(8));
    assert.equal(store.blobCount, 0);
    socket.socket.close();
  });
  await withGateway(9, async (gateway, store) => {
    const socket = await gateway.connect();
    const [batched] = (await (await gateway.post('/rpc', `[${BODY}]`, { token: SECRETS.all })).json()) as [Answer];
    for (const { error } of [await socket.request(CALL), batched]) {
      assert.match(
        error?.message ?? '',
        /^The result of session\.export is too large for this request: \d+ bytes, at most 8388608\. Send the call alone by POST \/rpc/,
      );
      assert.deepEqual([error?.data?.['code'], error?.data?.['reason']], ['FAILED_PRECONDITION', 'PAYLOAD_TOO_LARGE']);
    }
    assert.deepEqual([store.blobCount, store.fetched], [0, 0]);
    socket.socket.close();
  });
});

test('fetches many large results with bounded concurrency', async () => {
  await withGateway(exported(1, MB / 10), async (gateway, store) => {
    store.readDelayMs = 100;
    const socket = await gateway.connect();
    const ids = Array.from({ length: 40 }, (_, n) => n);
    for (const id of ids) socket.send(JSON.stringify({ ...CALL, id }));
    const answers: unknown[] = [];
    for (const _ of ids) answers.push((await socket.next()).id);
    assert.deepEqual(
      answers.toSorted((a, b) => Number(a) - Number(b)),
      ids,
    );
    assert.ok(store.maxReads > 1 && store.maxReads <= 8, `${store.maxReads} reads at once`);
    await waitUntil(() => store.blobCount === 0);
    socket.socket.close();
  });
});

test('discards the large result of a notification', async () => {
  await withGateway(1, async (gateway, store) => {
    const { id: _, ...notification } = CALL;
    const response = await gateway.post('/rpc', JSON.stringify(notification), { token: SECRETS.all });
    assert.equal(response.status, 204);
    await waitUntil(() => store.blobCount === 1);
    await waitUntil(() => store.blobCount === 0);
    assert.equal(store.fetched, 0);
  });
});
