import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { silentLogger } from '@switchyard/telemetry';
import { startNatsServer, type NatsServer } from '@switchyard/testkit';
import { bytes } from '../contract/message-collector.contract.ts';
import type { BucketEntry, Transport } from '../wire/transport.ts';
import { connectNats } from './connect-nats.ts';

const MiB = 1_048_576;
const OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

async function scene(t: TestContext): Promise<{ manager: JetStreamManager; server: NatsServer; join(): Promise<Transport> }> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  const connection = await connect({ servers: server.url, maxReconnectAttempts: -1, reconnectTimeWait: 20 });
  stack.defer(() => connection.close());
  return {
    manager: await jetstreamManager(connection),
    server,
    async join() {
      const transport = await connectNats(server.url, { log: silentLogger() });
      stack.defer(() => transport.drain());
      return transport;
    },
  };
}

test('concurrent creations of a bucket with different clocks result in one bucket', { skip: OFF }, async (t) => {
  const { join } = await scene(t);
  const joined = await Promise.all(Array.from({ length: 8 }, join));
  const now = Date.now();
  let reads = 0;
  t.mock.method(Date, 'now', () => now - 60_000 * reads++);
  const buckets = await Promise.all(joined.map((transport) => transport.kv({ name: 'raced' })));
  t.mock.restoreAll();
  assert.ok(reads >= buckets.length);
  const written = await Promise.all(buckets.map((bucket, n) => bucket.put(`k${n}`, bytes(String(n)))));
  const [first = 0] = written.toSorted((one, other) => one - other);
  assert.deepEqual(
    written.toSorted((one, other) => one - other),
    written.map((_, n) => first + n),
  );
  for (const bucket of buckets) assert.equal((await bucket.keys()).length, buckets.length);
});

test('an existing bucket keeps its revisions and gets its new configuration', { skip: OFF }, async (t) => {
  const { manager, join } = await scene(t);
  await manager.streams.add({ name: 'KV_old', subjects: ['$KV.old.>'], max_msgs_per_subject: 1 });
  const bucket = await (await join()).kv({ name: 'old' });
  assert.deepEqual([await bucket.put('k', bytes('1')), await bucket.put('k', bytes('2'))], [1, 2]);
  assert.equal((await manager.streams.info('KV_old')).config.allow_rollup_hdrs, true);
  const again = await (await join()).kv({ name: 'old', ttlMs: 60_000 });
  assert.equal(await again.put('k', bytes('3')), 3);
});

function getValue(size: number, text: string): Uint8Array {
  return new Uint8Array(Buffer.alloc(size, text));
}

async function waitUntil(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
}

test('rejects a value above maxPayload, and writes above 64 MiB in total', { skip: OFF, timeout: 60_000 }, async (t) => {
  const { join } = await scene(t);
  const bucket = await (await join()).kv({ name: 'full' });
  await assert.rejects(bucket.put('k', getValue(8 * MiB + 1, 'x')), {
    code: 'FAILED_PRECONDITION',
    details: { reason: 'PAYLOAD_TOO_LARGE' },
  });
  for (let n = 0; n < 63; n++) await bucket.put(`k${n}`, getValue(MiB, 'x'));
  await assert.rejects(bucket.put('last', getValue(2 * MiB, 'x')), (error: Error) => {
    assert.match((error.cause as Error).message, /maximum bytes exceeded/);
    return true;
  });
  assert.equal(await bucket.get('last'), undefined);
  assert.equal((await bucket.get('k0'))?.value?.length, MiB);
});

test('a watch delivers complete values and the latest one across a server restart', { skip: OFF, timeout: 60_000 }, async (t) => {
  const { join, server } = await scene(t);
  const transport = await join();
  const bucket = await transport.kv({ name: 'things' });
  await bucket.put('k', getValue(MiB, 'a'));
  const entries: BucketEntry[] = [];
  const watch = await bucket.watch((entry) => entries.push(entry));
  for (const letter of 'bcdefgh') {
    const writing = bucket.put('k', getValue(MiB, letter)).catch(() => undefined);
    if (letter === 'd') {
      await server.restart();
      await waitUntil(() => transport.connected());
    }
    await writing;
  }
  let revision: number | undefined;
  while (revision === undefined) revision = await bucket.put('k', getValue(MiB, 'z')).catch(() => undefined);
  await waitUntil(() => (entries.at(-1)?.revision ?? 0) >= (revision ?? 0));
  for (const { value } of entries) assert.deepEqual(value, getValue(MiB, String.fromCharCode(value?.[0] ?? 0)));
  assert.equal(entries.at(-1)?.value?.[0], 'z'.charCodeAt(0));
  watch.stop();
});

test('a watch delivers values that are written after the server lost its store', { skip: OFF, timeout: 30_000 }, async (t) => {
  const { join, server } = await scene(t);
  const transport = await join();
  const bucket = await transport.kv({ name: 'things' });
  await bucket.put('k', getValue(MiB, 'old'));
  const entries: BucketEntry[] = [];
  const watch = await bucket.watch((entry) => entries.push(entry));
  const restored = Promise.withResolvers<void>();
  transport.addConnectionListener({ restored: () => restored.resolve() });
  await server.restart({ empty: true });
  await restored.promise;
  const revision = await bucket.put('k', getValue(MiB - 9, 'new'));
  await waitUntil(() => entries.length === 2);
  assert.deepEqual(entries.at(-1), { key: 'k', value: getValue(MiB - 9, 'new'), revision });
  assert.deepEqual(await bucket.get('k'), { key: 'k', value: getValue(MiB - 9, 'new'), revision });
  watch.stop();
});
