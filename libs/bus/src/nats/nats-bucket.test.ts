import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { silentLogger } from '@switchyard/telemetry';
import { startNatsServer } from '@switchyard/testkit';
import { bytes } from '../collector.contract.ts';
import type { Transport } from '../transport.ts';
import { connectNats } from './connect-nats.ts';

const OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

async function scene(t: TestContext): Promise<{ manager: JetStreamManager; join(): Promise<Transport> }> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  const connection = await connect({ servers: server.url });
  stack.defer(() => connection.close());
  return {
    manager: await jetstreamManager(connection),
    async join() {
      const transport = await connectNats(server.url, { log: silentLogger() });
      stack.defer(() => transport.drain());
      return transport;
    },
  };
}

test('of many who make a bucket at once, at clocks that differ, the first does, and all have it', { skip: OFF }, async (t) => {
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

test('a bucket that is there counts on as it did, and is brought to its definition all the same', { skip: OFF }, async (t) => {
  const { manager, join } = await scene(t);
  await manager.streams.add({ name: 'KV_old', subjects: ['$KV.old.>'], max_msgs_per_subject: 1 });
  const bucket = await (await join()).kv({ name: 'old' });
  assert.deepEqual([await bucket.put('k', bytes('1')), await bucket.put('k', bytes('2'))], [1, 2]);
  assert.equal((await manager.streams.info('KV_old')).config.allow_atomic, true);
  const again = await (await join()).kv({ name: 'old', ttlMs: 60_000 });
  assert.equal(await again.put('k', bytes('3')), 3);
});
