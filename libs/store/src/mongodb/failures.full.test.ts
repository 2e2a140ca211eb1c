import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import { startOwnMongo } from '@switchyard/testkit';
import { a, items, newItem } from '../contract/fixture.contract.ts';
import { openStore } from '../index.ts';

const PAUSE_MS = 30_000;
const LATEST_MS = 12_000;
const MADE = { emit: [{ name: 'item:made', payload: {} }] };

/** Returns the outcome of a call and whether it settled in time. */
async function ended(work: () => Promise<unknown>): Promise<string> {
  const began = performance.now();
  const outcome = await work().then(
    () => 'done',
    (error: unknown) => (error instanceof ServiceError ? (error.code === 'INTERNAL' ? String(error.cause) : error.code) : String(error)),
  );
  return performance.now() - began < LATEST_MS ? outcome : `${outcome} too late`;
}

test('calls to a paused server time out without partial writes, and later calls succeed', async (t) => {
  const server = await startOwnMongo();
  t.after(() => server.stop());
  const store = await openStore(server.url, { service: 'sessions' });
  t.after(() => store.close());
  const mine = (await store.open({ items })).items.for(a);
  const published = new Set<string>();
  await store.publishTo(async ({ payload }) => void published.add((payload as { id: string }).id));
  const made = (id: string) => mine.insert(newItem(id), { emit: [{ name: 'item:made', payload: { id } }] });
  await made('before');

  server.pause();
  const over = wait(PAUSE_MS);
  const requests = [
    ...Array.from({ length: 60 }, (_, n) => ended(() => made(`during-${n}`))),
    ended(() => mine.get('before')),
    ended(() => mine.update({ id: 'before' }, { inc: { n: 1 } })),
    ended(() => mine.find({})),
    ended(() => mine.count({})),
    ended(() => mine.remove({ title: 'none' })),
  ];
  for (const outcome of await Promise.all(requests)) assert.match(outcome, /^(DEADLINE_EXCEEDED|UNAVAILABLE)$/);
  assert.match(await ended(() => mine.get('before')), /^(DEADLINE_EXCEEDED|UNAVAILABLE)$/);
  await over;
  server.goOn();

  while ((await ended(() => made('after'))) !== 'done') await wait(100);
  const there = (await mine.find({})).items.map(({ id }) => id);
  const deadline = Date.now() + 20_000;
  while (there.some((id) => !published.has(id)) && Date.now() < deadline) await wait(50);
  assert.deepEqual(
    there.filter((id) => !published.has(id)),
    [],
    'what is there has published its event',
  );
  assert.deepEqual(
    [...published].filter((id) => !there.includes(id)),
    [],
    'what was published is there',
  );
  const { n } = (await mine.get('before')) ?? {};
  assert.ok(n === 0 || n === 1);
});

test('reconnects to a restarted server; calls in between fail UNAVAILABLE or DEADLINE_EXCEEDED', async (t) => {
  const server = await startOwnMongo();
  t.after(() => server.stop());
  const store = await openStore(server.url, { service: 'sessions' });
  t.after(() => store.close());
  const mine = (await store.open({ items })).items.for(a);
  await mine.insert(newItem('1'), MADE);
  await wait(200);
  await server.kill();
  for (const outcome of await Promise.all([ended(() => mine.get('1')), ended(() => mine.insert(newItem('2'))), ended(() => mine.find({}))]))
    assert.match(outcome, /^(DEADLINE_EXCEEDED|UNAVAILABLE)$/);
  await server.restart();
  while ((await ended(() => mine.insert(newItem('3')))) !== 'done') await wait(100);
  assert.ok(await mine.get('1'));
});

test('close ends in time when the server does not respond', async (t) => {
  const server = await startOwnMongo();
  t.after(() => server.stop());
  const store = await openStore(server.url, { service: 'sessions' });
  const mine = (await store.open({ items })).items.for(a);
  await store.publishTo(async () => undefined);
  server.pause();
  const write = ended(() => mine.insert(newItem('1'), MADE));
  const began = performance.now();
  await store.close();
  assert.ok(performance.now() - began < 12_000);
  assert.match(await write, /^(DEADLINE_EXCEEDED|UNAVAILABLE)$/);
});
