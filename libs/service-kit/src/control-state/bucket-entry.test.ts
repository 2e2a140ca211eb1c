import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { connectMemory, createBus, createMemoryHub } from '@switchyard/bus';
import { silentLogger } from '@switchyard/telemetry';
import { syncBucketEntry } from './bucket-entry.ts';

const openBucket = () => createBus(connectMemory(createMemoryHub()), { log: silentLogger(), service: 'registry' }).kv({ name: 'agents' });

test('an entry follows its value, and is written only when it differs', async () => {
  const bucket = await openBucket();
  const read = async () => JSON.parse(Buffer.from((await bucket.get('a'))?.value ?? Buffer.from('null')).toString()) as unknown;
  const sync = (value: object | undefined) => syncBucketEntry(bucket, 'a', async () => value);
  assert.deepEqual([await sync({ n: 1 }), await read()], [true, { n: 1 }]);
  assert.deepEqual([await sync({ n: 1 }), await sync({ n: 2 }), await read()], [false, true, { n: 2 }]);
  assert.deepEqual([await sync(undefined), (await bucket.get('a'))?.value, await sync(undefined)], [true, undefined, false]);
});

test('the later reader wins over a writer that was interrupted', async () => {
  const bucket = await openBucket();
  await syncBucketEntry(bucket, 'a', async () => ({ n: 0 }));
  let current = 1;
  const written: string[] = [];
  const { promise: isCurrent, resolve } = Promise.withResolvers<void>();
  const watch = await bucket.watch(({ value }) => {
    const text = Buffer.from(value ?? []).toString();
    written.push(text);
    if (text === '{"n":2}') resolve();
  });
  const interrupted = syncBucketEntry(bucket, 'a', async () => {
    const value = { n: current };
    if (current === 1) {
      current = 2;
      await syncBucketEntry(bucket, 'a', async () => ({ n: 2 }));
    }
    return value;
  });
  await interrupted;
  await isCurrent;
  // A later write is delivered after all earlier ones.
  await bucket.put('end', Buffer.from('end'));
  while (written.at(-1) !== 'end') await setImmediate();
  watch.stop();
  assert.deepEqual(written, ['{"n":0}', '{"n":2}', 'end'], 'the older value was never written');
});
