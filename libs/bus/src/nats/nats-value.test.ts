import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/nats-core';
import type { MsgImpl } from '@nats-io/nats-core/internal';
import { connect } from '@nats-io/transport-node';
import { INLINE_BYTES } from '@switchyard/contracts';
import { createLogger } from '@switchyard/telemetry';
import { startNatsServer, type NatsServer } from '@switchyard/testkit';
import type { Bucket, BucketEntry, Transport } from '../transport.ts';
import { connectNats } from './connect-nats.ts';
import { PART_BYTES } from './nats-value.ts';

const OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const MiB = 1_048_576;
const BUCKET = 'things';

interface Scene {
  server: NatsServer;
  /** Somebody with all rights, who knows nothing of values in parts. */
  raw: NatsConnection;
  manager: JetStreamManager;
  transport: Transport;
  bucket: Bucket;
  /** What was logged as an error. */
  errors: string[];
}

async function scene(t: TestContext): Promise<Scene> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  const raw = await connect({ servers: server.url, maxReconnectAttempts: -1, reconnectTimeWait: 20 });
  stack.defer(() => raw.close());
  const errors: string[] = [];
  const log = createLogger({ level: 'error', destination: { write: (line: string) => void errors.push(line) } });
  const transport = await connectNats(server.url, { log });
  stack.defer(() => transport.drain());
  return { server, raw, manager: await jetstreamManager(raw), transport, bucket: await transport.kv({ name: BUCKET }), errors };
}

function valueOf(size: number, text = 'switchyard'): Uint8Array {
  return new Uint8Array(Buffer.alloc(size, text));
}

function lines(given: Record<string, string>): MsgHdrs {
  const all = headers();
  for (const [name, value] of Object.entries(given)) all.set(name, value);
  return all;
}

/** Keys and parts that hold something, whoever names them. */
async function subjectsOf(manager: JetStreamManager): Promise<string[]> {
  const { state } = await manager.streams.info(`KV_${BUCKET}`, { subjects_filter: '>' });
  const stored = await Promise.all(
    Object.keys(state.subjects ?? {}).map((subject) => manager.streams.getMessage(`KV_${BUCKET}`, { last_by_subj: subject })),
  );
  const present = stored.flatMap((one) => (one === null || one.header?.has('KV-Operation') ? [] : [one.subject]));
  return present.map((subject) => subject.slice(`$KV.${BUCKET}.`.length)).toSorted();
}

async function eventually(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
}

async function told(bucket: Bucket): Promise<{ entries: BucketEntry[]; stop(): void }> {
  const entries: BucketEntry[] = [];
  const watch = await bucket.watch((entry) => entries.push(entry));
  return { entries, stop: () => watch.stop() };
}

test('no message of a large value is above 64 KiB with its headers, whoever writes, reads or watches', { skip: OFF }, async (t) => {
  const { raw, bucket } = await scene(t);
  const sizes: number[] = [];
  const written = new Set<string>();
  raw.subscribe('>', {
    callback: (_error, message) => {
      if (message.subject.startsWith('$KV.')) written.add(message.subject);
      sizes.push((message as MsgImpl)._rdata.length); // headers and data
    },
  });
  await raw.flush();
  const key = `${'t'.repeat(200)}.${'k'.repeat(200)}`;
  for (const size of [PART_BYTES, PART_BYTES + 1, INLINE_BYTES, MiB]) {
    await bucket.put(key, valueOf(size));
    assert.equal((await bucket.get(key))?.value?.length, size);
    (await told(bucket)).stop();
  }
  await raw.flush();
  assert.ok(written.size > Math.ceil(MiB / PART_BYTES));
  assert.ok(Math.max(...sizes) > PART_BYTES);
  assert.ok(Math.max(...sizes) <= INLINE_BYTES, `${Math.max(...sizes)} bytes crossed`);
});

test('the parts that are there are those that a head names, whatever was written, in the place of what', { skip: OFF }, async (t) => {
  const { bucket, manager } = await scene(t);
  const parts = (key: string, room: string, count: number): string[] => [
    key,
    ...Array.from({ length: count }, (_, at) => `${key}./.${room}.${at}`),
  ];
  await bucket.put('k', valueOf(PART_BYTES * 3));
  assert.deepEqual(await subjectsOf(manager), parts('k', 'a', 3));
  const second = await bucket.put('k', valueOf(PART_BYTES * 2));
  assert.deepEqual(await subjectsOf(manager), parts('k', 'b', 2));
  assert.equal(await bucket.update('k', valueOf(PART_BYTES * 4), second - 1), undefined);
  assert.deepEqual(await subjectsOf(manager), parts('k', 'b', 2), 'what is refused leaves nothing');
  await bucket.update('k', valueOf(5), second);
  assert.deepEqual(await subjectsOf(manager), ['k']);
  await Promise.all([1, 2, 3, 4, 5].map((n) => bucket.put('k', valueOf(PART_BYTES * n))));
  const { value } = (await bucket.get('k')) ?? {};
  assert.equal((await subjectsOf(manager)).length, value?.length === PART_BYTES ? 1 : 1 + (value?.length ?? 0) / PART_BYTES);
  await bucket.put('k', valueOf(PART_BYTES * 2));
  await bucket.remove('k');
  assert.deepEqual(await subjectsOf(manager), []);
});

test('a writer that dies in the middle leaves what was there, and nothing of its own', { skip: OFF }, async (t) => {
  const { bucket, manager, raw } = await scene(t);
  const revision = await bucket.put('k', valueOf(MiB, 'old'));
  const before = await subjectsOf(manager);
  const following = await told(bucket);
  for (let at = 0; at < 5; at++) {
    const place = lines({ 'Nats-Batch-Id': 'dead', 'Nats-Batch-Sequence': String(at + 1), 'Sy-Part-Of': 'dead' });
    raw.publish(`$KV.${BUCKET}.k./.b.${at}`, valueOf(PART_BYTES, 'new'), { headers: place });
  }
  await raw.flush();
  assert.deepEqual(await bucket.get('k'), { key: 'k', value: valueOf(MiB, 'old'), revision });
  assert.deepEqual(await subjectsOf(manager), before);
  const next = await bucket.update('k', valueOf(MiB, 'next'), revision);
  await eventually(() => following.entries.length === 2);
  assert.deepEqual(following.entries.at(-1), { key: 'k', value: valueOf(MiB, 'next'), revision: next });
  following.stop();
});

test('parts that no head names are no keys and no values, and give way to the next value', { skip: OFF, timeout: 30_000 }, async (t) => {
  const { bucket, manager, raw, errors } = await scene(t);
  await bucket.put('other', valueOf(9));
  const following = await told(bucket);
  for (const at of [0, 1])
    await raw.request(`$KV.${BUCKET}.k./.a.${at}`, valueOf(PART_BYTES), { headers: lines({ 'Sy-Part-Of': 'left' }), timeout: 5_000 });
  assert.equal(await bucket.get('k'), undefined);
  assert.deepEqual(await bucket.keys(), ['other']);
  assert.ok(await bucket.update('k', valueOf(PART_BYTES * 2, 'x'), 0));
  assert.equal((await subjectsOf(manager)).length, 4);
  assert.deepEqual((await bucket.get('k'))?.value, valueOf(PART_BYTES * 2, 'x'));
  await eventually(() => following.entries.length === 2);
  assert.deepEqual(errors, []);
  following.stop();
});

test(
  'a value that somebody else took a part of is an error to readers, no news to watchers, and can be written over',
  { skip: OFF },
  async (t) => {
    const { bucket, manager, errors } = await scene(t);
    const revision = await bucket.put('k', valueOf(MiB));
    await manager.streams.deleteMessage(`KV_${BUCKET}`, revision - 3);
    await assert.rejects(bucket.get('k'), { code: 'DATA_LOSS', message: 'The value of k in the bucket things is not whole.' });
    const following = await told(bucket);
    assert.deepEqual(following.entries, []);
    assert.match(errors.join(), /not whole was not taken over/);
    const healed = await bucket.update('k', valueOf(MiB), revision);
    await eventually(() => following.entries.length === 1);
    assert.equal((await bucket.get('k'))?.revision, healed);
    following.stop();
  },
);

test('a watch that is cut off in the middle tells whole values and the last one', { skip: OFF, timeout: 60_000 }, async (t) => {
  const { bucket, server, transport } = await scene(t);
  await bucket.put('k', valueOf(MiB, 'a'));
  const following = await told(bucket);
  for (const letter of 'bcdefgh') {
    const writing = bucket.put('k', valueOf(MiB, letter)).catch(() => undefined);
    if (letter === 'd') {
      await server.restart();
      await eventually(() => transport.connected());
    }
    await writing;
  }
  let revision: number | undefined;
  while (revision === undefined) revision = await bucket.put('k', valueOf(MiB, 'z')).catch(() => undefined);
  await eventually(() => (following.entries.at(-1)?.revision ?? 0) >= (revision ?? 0));
  for (const { value } of following.entries) assert.deepEqual(value, valueOf(MiB, String.fromCharCode(value?.[0] ?? 0)));
  assert.equal(following.entries.at(-1)?.value?.[0], 'z'.charCodeAt(0));
  following.stop();
});

test('a server that lost its store in the middle of a value is told it anew, whole', { skip: OFF, timeout: 30_000 }, async (t) => {
  const { bucket, server, transport } = await scene(t);
  await bucket.put('k', valueOf(MiB, 'old'));
  const following = await told(bucket);
  const restored = Promise.withResolvers<void>();
  transport.follow({ restored: () => restored.resolve() });
  await server.restart({ empty: true });
  await restored.promise;
  const revision = await bucket.put('k', valueOf(MiB - 9, 'new'));
  await eventually(() => following.entries.length === 2);
  assert.deepEqual(following.entries.at(-1), { key: 'k', value: valueOf(MiB - 9, 'new'), revision });
  assert.deepEqual(await bucket.get('k'), { key: 'k', value: valueOf(MiB - 9, 'new'), revision });
  following.stop();
});

test('a bucket that an earlier version made takes large values once it is opened', { skip: OFF }, async (t) => {
  const { manager, transport, raw } = await scene(t);
  await manager.streams.add({ name: 'KV_before', subjects: ['$KV.before.>'], max_msgs_per_subject: 1, max_bytes: 64 * MiB });
  await raw.request('$KV.before.k', 'small');
  const bucket = await transport.kv({ name: 'before' });
  assert.equal(Buffer.from((await bucket.get('k'))?.value ?? '').toString(), 'small');
  await bucket.put('k', valueOf(MiB));
  assert.deepEqual((await bucket.get('k'))?.value, valueOf(MiB));
});
