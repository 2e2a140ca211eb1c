import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import { openStore } from '@switchyard/store';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import { setTimeout as wait } from 'node:timers/promises';
import { queryVectorCollection } from '../documents/collections.ts';
import { createQueryVectorCache, type QueryKey, type QueryVectorCache } from './query-vector-cache.ts';

const about = (text: string, more: Partial<QueryKey> = {}): QueryKey => ({ tenant: 't', model: 'm', text, ...more });
const vector = Int8Array.of(1, -2, 3);
/** A time in the future, so that the database does not expire the documents. */
const TODAY = Date.UTC(2100, 0, 1);

/** Caches of replicas with a shared database and a manual clock. */
async function replicas(dir: string, settings: object) {
  const stack = new AsyncDisposableStack();
  const time = { now: TODAY };
  const store = await openStore(`sqlite:${join(dir, 'store')}`, { service: 'memory' });
  stack.defer(() => store.close());
  const { queryVectors } = await store.open({ queryVectors: queryVectorCollection });
  const due: { at: number; work: () => void }[] = [];
  const after: Clock['after'] = (ms, work) => {
    const one = { at: time.now + ms, work };
    due.push(one);
    return () => void (one.at = Infinity);
  };
  const clock: Clock = { now: () => time.now, after, soon: (work) => void setImmediate(work), every: () => () => undefined };
  const current = { embedding: sections.embedding.parse({ cache: settings }) };
  const open = (): QueryVectorCache => {
    const deps = { queryVectors, store: { now: () => time.now }, settings: { current } as never, clock, log: silentLogger() };
    return stack.use(createQueryVectorCache(deps));
  };
  function pass(ms: number): void {
    time.now += ms;
    for (const one of due.filter(({ at }) => at <= time.now)) {
      one.at = Infinity;
      one.work();
    }
  }
  /** Resolves after all earlier writes. */
  async function written(): Promise<void> {
    for (const id of ['one more', 'the last']) await queryVectors.for({ tenant: 't' }).insert({ id, vector: '', createdAt: TODAY });
  }
  return {
    open,
    pass,
    written,
    stored: () => queryVectors.system().count({ createdAt: { gt: 0 } }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function waitUntil(isTrue: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 5_000; !(await isTrue()) && performance.now() < end;) await wait(5);
  assert.ok(await isTrue());
}

test('evicts the least recently used vector, and keys vectors by tenant and model', async () => {
  await using dir = await tempDir();
  await using house = await replicas(dir.path, { maxEntries: 2 });
  const cache = house.open();
  for (const text of ['one', 'two']) cache.put(about(text), vector);
  assert.deepEqual(await cache.get(about('one')), vector);
  cache.put(about('three'), vector);
  const matches = await Promise.all(['one', 'two', 'three'].map((text) => cache.get(about(text))));
  assert.deepEqual(
    matches.map((one) => one !== undefined),
    [true, false, true],
  );
  assert.equal(await cache.get(about('one', { tenant: 'u' })), undefined);
  assert.equal(await cache.get(about('one', { model: 'other' })), undefined);
  assert.deepEqual(await cache.stats(), { l1: { entries: 2, maxEntries: 2, hits: 3, misses: 3, evictions: 1 } });
  await house.written();
  assert.equal(await house.stored(), 2, 'nothing is written to the database without persistent');
});

test('persistent vectors are shared by replicas and restarts, not by tenants, and contain no query', async () => {
  await using dir = await tempDir();
  await using house = await replicas(dir.path, { persistent: true });
  house.open().put(about('where is the key?'), vector);
  await waitUntil(async () => (await house.stored()) === 1);
  const other = house.open();
  assert.deepEqual(await other.get(about('where is the key?')), vector);
  assert.deepEqual(await other.get(about('where is the key?')), vector);
  assert.equal(await other.get(about('where is the key?', { tenant: 'u' })), undefined);
  const { l1, l2 } = await other.stats();
  assert.deepEqual(l1, { entries: 1, maxEntries: 10_000, hits: 1, misses: 2, evictions: 0 });
  assert.deepEqual(l2, { entries: 1, maxEntries: 50_000, hits: 1, misses: 1, evictions: 0 });
});

test('vectors expire after ttlMs in both levels', async () => {
  await using dir = await tempDir();
  await using house = await replicas(dir.path, { persistent: true, ttlMs: 1_000, pruneIntervalMs: 5_000 });
  const cache = house.open();
  cache.put(about('one'), vector);
  await waitUntil(async () => (await house.stored()) === 1);
  house.pass(999);
  assert.deepEqual(await cache.get(about('one')), vector);
  house.pass(2);
  assert.equal(await cache.get(about('one')), undefined);
  const other = house.open();
  assert.equal(await other.get(about('one')), undefined);
  other.put(about('one'), Int8Array.of(4));
  await waitUntil(async () => (await house.open().get(about('one')))?.[0] === 4);
});

test('prunes the oldest documents above persistentMaxEntries every pruneIntervalMs', async () => {
  await using dir = await tempDir();
  await using house = await replicas(dir.path, { persistent: true, persistentMaxEntries: 2, pruneIntervalMs: 1_000 });
  const cache = house.open();
  for (const [n, text] of ['one', 'two', 'three', 'four'].entries()) {
    cache.put(about(text), vector);
    await waitUntil(async () => (await house.stored()) === n + 1);
    house.pass(10);
  }
  house.pass(900);
  assert.equal(await house.stored(), 4);
  house.pass(100);
  await waitUntil(async () => (await house.stored()) === 2);
  const next = house.open();
  assert.deepEqual(
    (await Promise.all(['one', 'two', 'three', 'four'].map((text) => next.get(about(text))))).map((one) => one !== undefined),
    [false, false, true, true],
  );
  assert.equal((await cache.stats()).l2?.evictions, 2);
});
