import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Documents } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { createRecall, type Exchange } from './exchange-cache.ts';

const session = (lastSeq: number, epoch = 'e'): SessionDocument =>
  ({ key: 's', epoch, lastSeq, messageCount: lastSeq * 2 }) as unknown as SessionDocument;
const turn = (seq: number, text = `answer ${seq}`, epoch = 'e'): TurnDocument =>
  ({ turnId: `t${seq}`, message: { chars: 1, text: '?' }, answer: { chars: text.length, text }, seq, epoch }) as TurnDocument;

/** A collection of turns that counts its queries. */
function kept(items: TurnDocument[]) {
  let finds = 0;
  const find = async () => {
    finds += 1;
    return { items };
  };
  return { turns: { find } as unknown as Documents<TurnDocument>, finds: () => finds };
}

/** A cache with a TTL of 30 seconds and a stopped clock. */
function getRecall(maxChars: number, clock: { now(): number } = { now: () => 0 }) {
  return createRecall({ maxChars, ttlMs: () => 30_000, clock });
}

const ids = (exchanges: readonly Exchange[]) => exchanges.map(({ messages: [first] }) => first?.turnId);

test('reads a conversation once while it continues on this replica', async () => {
  const recall = getRecall(100_000);
  const { turns, finds } = kept([turn(2), turn(1)]);
  assert.deepEqual(ids(await recall.last(turns, { tenant: 'a', session: session(2) }, 3)), ['t2', 't1']);
  recall.add({ tenant: 'a', session: session(2) }, turn(3));
  recall.add({ tenant: 'a', session: session(3) }, turn(4));
  assert.deepEqual(ids(await recall.last(turns, { tenant: 'a', session: session(4) }, 3)), ['t4', 't3', 't2']);
  assert.deepEqual(ids(await recall.last(turns, { tenant: 'a', session: session(4) }, 2)), ['t4', 't3']);
  assert.equal(finds(), 1);
});

test('reads again after turns on another replica, after a reset, for another tenant, or for a higher limit', async () => {
  const cases: [where: { tenant: string; session: SessionDocument }, limit: number][] = [
    [{ tenant: 'a', session: session(3) }, 2],
    [{ tenant: 'a', session: session(2, 'f') }, 2],
    [{ tenant: 'b', session: session(2) }, 2],
    [{ tenant: 'a', session: session(2) }, 3],
  ];
  for (const [location, limit] of cases) {
    const recall = getRecall(100_000);
    await recall.last(kept([turn(2), turn(1)]).turns, { tenant: 'a', session: session(2) }, 2);
    const { turns, finds } = kept([turn(9)]);
    assert.deepEqual(ids(await recall.last(turns, location, limit)), ['t9']);
    assert.equal(finds(), 1);
  }
});

test('does not append a turn that does not follow the cached turns', async () => {
  for (const [before, counted] of [
    [session(3), turn(4)],
    [session(2, 'f'), turn(3, 'x', 'f')],
  ] as const) {
    const recall = getRecall(100_000);
    await recall.last(kept([turn(2), turn(1)]).turns, { tenant: 'a', session: session(2) }, 3);
    recall.add({ tenant: 'a', session: before }, counted);
    const { turns, finds } = kept([]);
    await recall.last(turns, { tenant: 'a', session: session(counted.seq ?? 0, counted.epoch) }, 3);
    assert.equal(finds(), 1);
  }
});

test('turns that fall out of a long conversation free their space', async () => {
  const recall = getRecall(1_000);
  const { turns, finds } = kept([turn(2), turn(1)]);
  await recall.last(turns, { tenant: 'a', session: session(2) }, 2);
  for (let seq = 3; seq <= 40; seq += 1) recall.add({ tenant: 'a', session: session(seq - 1) }, turn(seq, 'x'.repeat(100)));
  assert.deepEqual(ids(await recall.last(turns, { tenant: 'a', session: session(40) }, 2)), ['t40', 't39']);
  assert.equal(finds(), 1);
});

test('evicts the least recently used conversation above maxChars', async () => {
  const recall = getRecall(3_000);
  const { turns, finds } = kept([turn(1, 'x'.repeat(1_000))]);
  const of = (tenant: string) => recall.last(turns, { tenant, session: session(1) }, 3);
  await of('a');
  await of('b');
  await of('c');
  await of('b');
  assert.equal(finds(), 3);
  await of('a');
  assert.equal(finds(), 4);
});

test('reads a conversation again when its entry is older than the TTL', async () => {
  let now = 1;
  const recall = getRecall(100_000, { now: () => now });
  const [idle, busy] = [kept([turn(1)]), kept([turn(1)])];
  const where = (key: string, lastSeq = 1) => ({ tenant: 'a', session: { ...session(lastSeq), key } });
  await recall.last(idle.turns, where('idle'), 1);
  await recall.last(busy.turns, where('busy'), 1);
  now = 20_000;
  recall.add(where('busy'), turn(2));
  now = 31_000;
  await recall.last(idle.turns, where('idle'), 1);
  await recall.last(busy.turns, where('busy', 2), 1);
  assert.deepEqual([idle.finds(), busy.finds()], [2, 1]);
});
