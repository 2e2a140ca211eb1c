import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { ConfigurationPatch } from '@switchyard/contracts';
import { principal, tempDir, testService, type TestService } from '@switchyard/testkit';
import { entryCollection, type EntryDocument } from '../documents/collections.ts';
import { defineMemory } from '../service.ts';

const admin = principal({ scopes: ['*'] });
const DAY_MS = 86_400_000;
const ENOUGH_MS = 10_000;

type Put = Partial<EntryDocument> & { id: string; daysOld: number };

/** Starts a memory service with a short sweep interval on prepared documents. */
async function start(settings: ConfigurationPatch, before: readonly Put[]) {
  const stack = new AsyncDisposableStack();
  const data = stack.use(await tempDir());
  const service = (retentionMs: number, more: ConfigurationPatch = {}) =>
    testService(defineMemory({ retentionMs }), { data: data.path, as: admin, settings: more });
  {
    await using writing = await service(DAY_MS);
    await write(writing, before);
  }
  const app = stack.use(await service(20, settings));
  return { app, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function write({ host }: TestService, before: readonly Put[]): Promise<void> {
  const store = await host.store('memory');
  const { entries } = await store.open({ entries: entryCollection });
  for (const { daysOld, ...one } of before) {
    const createdAt = store.now() - Math.round(daysOld * DAY_MS);
    const usual = { agentId: 'default', userId: 'ann', owner: '', who: 'ann', sourceType: 'conversation', taintLevel: 'clean' } as const;
    const text = { content: `What ${one.id} says.`, memoryType: 'episodic', trustLevel: 'learned', tags: ['conversation'] } as const;
    await entries.for(admin).insert({ ...usual, ...text, createdAt, changedAt: store.now(), ...one, tags: [...(one.tags ?? text.tags)] });
  }
}

const left = async ({ bus }: TestService): Promise<string[]> =>
  (await bus.call('memory.export', {})).entries.map(({ id }) => id).toSorted();

/** Waits for a sweep and checks that the result is stable. */
async function settled(app: TestService, expected: readonly string[]): Promise<void> {
  const deadline = performance.now() + ENOUGH_MS;
  while ((await left(app)).length > expected.length && performance.now() < deadline) await wait(20);
  assert.deepEqual(await left(app), expected.toSorted());
  await wait(100);
  assert.deepEqual(await left(app), expected.toSorted());
}

const several = (name: string, count: number, more: Partial<Put> = {}): Put[] =>
  Array.from({ length: count }, (_, n) => ({ id: `${name}-${n}`, daysOld: 50 - n, ...more }));
const ids = (puts: readonly Put[]): string[] => puts.map(({ id }) => id);

test('deletes memories older than retention.maxAgeDays except system memories', async () => {
  const old = { id: 'old', daysOld: 11 };
  const expected = [
    { id: 'young', daysOld: 9 },
    { id: 'rule', daysOld: 400, trustLevel: 'system' as const },
  ];
  await using fixture = await start({ memory: { retention: { maxAgeDays: 10 } } }, [old, ...expected]);
  await settled(fixture.app, ids(expected));
});

test('deletes the oldest memories of an agent above retention.maxEntries and ignores system memories', async () => {
  const ownEntries = several('mine', 6, { memoryType: 'semantic', tags: [] });
  const expected = [...ownEntries.slice(2), ...several('rule', 3, { trustLevel: 'system' }), ...several('other', 4, { agentId: 'other' })];
  await using fixture = await start({ memory: { retention: { maxEntries: 4 } } }, [...ownEntries.slice(0, 2), ...expected]);
  await settled(fixture.app, ids(expected));
});

test('thins captured memories to compaction.targetSize above the threshold and keeps stored ones', async () => {
  const collected = several('collected', 8);
  const few = several('few', 6, { agentId: 'other' });
  const known = several('known', 9, { memoryType: 'semantic' });
  const stored = several('stored', 9, { tags: ['operator-stored'] });
  const settings = { memory: { compaction: { threshold: 6, targetSize: 3 } } };
  await using fixture = await start(settings, [...collected, ...few, ...known, ...stored]);
  await settled(fixture.app, ids([...collected.slice(5), ...few, ...known, ...stored]));
});

test('treats 0 as unlimited and skips compaction if it is disabled', async () => {
  const all = several('all', 8, { daysOld: 5_000 });
  const settings = { memory: { retention: { maxAgeDays: 0, maxEntries: 0 }, compaction: { enabled: false, threshold: 2, targetSize: 1 } } };
  await using fixture = await start(settings, all);
  await fixture.app.bus.call('memory.search', { query: 'says' });
  await settled(fixture.app, ids(all));
});
