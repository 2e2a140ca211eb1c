import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connectBus, type Bus } from '@switchyard/bus';
import { AGENTS_BUCKET } from '@switchyard/contracts';
import { createLogger, silentLogger } from '@switchyard/telemetry';
import { z } from 'zod';
import { watchBucket, type WatchedBucket } from './watched-bucket.ts';

/** Fails the test if a change does not arrive in time. */
const PATIENCE_MS = 10_000;

const Entry = z.object({ n: z.int() });
type Entry = z.infer<typeof Entry>;

async function openBus(t: TestContext): Promise<Bus> {
  const bus = await connectBus('memory:', { log: silentLogger() });
  t.after(() => bus.drain());
  return bus;
}

const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

function changed(watched: WatchedBucket<Entry>, key: string): Promise<Entry | undefined> {
  return new Promise((resolve) => {
    const stop = watched.onChange((name, value) => {
      if (name !== key) return;
      stop();
      resolve(value);
    });
  });
}

test('watchBucket reads existing entries first and then follows changes', { timeout: PATIENCE_MS }, async (t) => {
  const bus = await openBus(t);
  const bucket = await bus.kv(AGENTS_BUCKET);
  await bucket.put('a', bytes({ n: 1 }));
  await using watched = await watchBucket(bus, AGENTS_BUCKET, Entry);
  assert.deepEqual([...watched.entries], [['a', { n: 1 }]]);

  const added = changed(watched, 'b');
  const revision = await bucket.put('b', bytes({ n: 2 }));
  assert.deepEqual(await added, { n: 2 });
  assert.equal(watched.revision, revision);
  assert.equal(watched.lostSince(), undefined);

  const removed = changed(watched, 'a');
  await bucket.remove('a');
  assert.equal(await removed, undefined);
  assert.deepEqual([...watched.entries.keys()], ['b']);
});

test('watchBucket logs and skips entries that do not match the schema', { timeout: PATIENCE_MS }, async (t) => {
  const bus = await openBus(t);
  const lines: string[] = [];
  const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
  const bucket = await bus.kv(AGENTS_BUCKET);
  await bucket.put('text', Buffer.from('not json'));
  await bucket.put('wrong', bytes({ n: 'one' }));
  await bucket.put('good', bytes({ n: 1 }));
  await using watched = await watchBucket(bus, AGENTS_BUCKET, Entry, log);
  assert.deepEqual([...watched.entries.keys()], ['good']);
  assert.equal(lines.length, 2);

  const gone = changed(watched, 'good');
  await bucket.put('good', bytes({ n: null }));
  assert.equal(await gone, undefined, 'an entry that turned bad is no longer there');
});

test('watchBucket logs a throwing listener and still calls the next one', { timeout: PATIENCE_MS }, async (t) => {
  const bus = await openBus(t);
  const lines: string[] = [];
  const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
  await using watched = await watchBucket(bus, AGENTS_BUCKET, Entry, log);
  watched.onChange(() => assert.fail('broken listener'));
  const receivedMessage = changed(watched, 'a');
  await (await bus.kv(AGENTS_BUCKET)).put('a', bytes({ n: 1 }));
  assert.deepEqual(await receivedMessage, { n: 1 });
  assert.match(lines.join(), /broken listener/);
});

test('watchBucket calls no listener after disposal', async (t) => {
  const bus = await openBus(t);
  const watched = await watchBucket(bus, AGENTS_BUCKET, Entry);
  watched.onChange(() => assert.fail('heard'));
  await watched[Symbol.asyncDispose]();
  await (await bus.kv(AGENTS_BUCKET)).put('a', bytes({ n: 1 }));
  await bus.flush();
  assert.equal(watched.entries.size, 0);
  assert.ok(watched.lostSince() !== undefined);
});
