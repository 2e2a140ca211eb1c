import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import { a, b, items, newItem, type Item, type OpenStore } from './fixture.contract.ts';
import type { Collection, OutboxEvent, Publish, Store } from '../port/store.ts';

type Published = Parameters<Publish>[0];

/** Lease TTL, after which another replica takes over. */
const CLAIM_MS = 5_000;

const made = (n: number): { emit: OutboxEvent[] } => ({ emit: [{ name: 'item:made', payload: { n } }] });
const getNumber = ({ payload }: Pick<Published, 'payload'>): number => (payload as { n: number }).n;
const numbers = (events: readonly Published[]) => events.map(getNumber);
const sorted = (events: readonly Published[]) => numbers(events).toSorted((x, y) => x - y);

/** Collects published events and resolves when the expected number has arrived. */
function createListener(publish: (event: Published) => void | Promise<void> = () => undefined) {
  const events: Published[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  return {
    events,
    publish: async (event: Published): Promise<void> => {
      await publish(event);
      events.push(event);
      for (const { count, resolve } of waiting) if (events.length >= count) resolve();
    },
    until: (count: number) =>
      new Promise<void>((resolve) => {
        if (events.length >= count) resolve();
        waiting.push({ count, resolve });
      }),
  };
}

/** Tests that a document and its events are stored together and published. */
export function outboxContract(open: OpenStore): void {
  /** Opens a replica on the database of this name. */
  async function replica(t: TestContext, name: string): Promise<{ store: Store; all: Collection<Item> }> {
    const store = await open(name);
    t.after(() => store.close());
    return { store, all: (await store.open({ items })).items };
  }

  test('publishes events once, with their tenant, in the order of writes to the document', async (t) => {
    const name = randomUUID();
    const { store, all } = await replica(t, name);
    const receivedMessage = createListener();
    await store.publishTo(receivedMessage.publish);
    await all.for(a).insert(newItem('1'), made(1));
    await Promise.all([2, 3, 4].map((n) => all.for(b).insert(newItem(`${n}`), made(n))));
    await all.for(a).replace(newItem('1'), made(5));
    await all.for(a).update({ id: '1' }, { inc: { n: 1 }, ...made(6) });
    await all.system().claim({ id: '2' }, { inc: { n: 1 }, emit: [...made(7).emit, ...made(8).emit] });
    await receivedMessage.until(8);
    await store.close();

    assert.deepEqual(sorted(receivedMessage.events), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert.deepEqual(numbers(receivedMessage.events.filter(({ tenant }) => tenant === 'a')), [1, 5, 6]);
    assert.deepEqual(
      numbers(receivedMessage.events).filter((n) => [2, 7, 8].includes(n)),
      [2, 7, 8],
    );
    assert.equal(new Set(receivedMessage.events.map(({ id }) => id)).size, 8);
    const first = receivedMessage.events.find((event) => getNumber(event) === 1);
    assert.deepEqual([first?.name, first?.payload], ['item:made', { n: 1 }]);
    assert.deepEqual(await leftovers(open, name), []);
  });

  test('keeps a write with deferSync together with the following write, with events in order', async (t) => {
    const name = randomUUID();
    const { store, all } = await replica(t, name);
    const heard = createListener();
    const known = new Set<string>();
    await store.publishTo(async (event) => {
      if (known.has(event.id)) return; // a repeated publication has the same id
      known.add(event.id);
      await heard.publish(event);
    });
    const mine = all.for(a);
    const ids = Array.from({ length: 20 }, (_, n) => `${n}`);
    await Promise.all(
      ids.map(async (id, n) => {
        assert.deepEqual(await mine.insert(newItem(id), { ...made(2 * n), deferSync: true }), newItem(id));
        assert.equal((await mine.update({ id }, { set: { n: 1 }, deferSync: true }))?.n, 1);
        assert.equal((await mine.update({ id, n: 1 }, { inc: { n: 1 }, ...made(2 * n + 1) }))?.n, 2);
      }),
    );
    await assert.rejects(mine.insert(newItem('0'), { ...made(99), deferSync: true }), { code: 'ALREADY_EXISTS' });
    assert.equal(await mine.update({ id: 'none' }, { set: { n: 1 }, deferSync: true }), null);
    await heard.until(40);
    await store.close();
    for (const n of ids.keys()) {
      const texts = numbers(heard.events).filter((number) => Math.floor(number / 2) === n);
      assert.deepEqual(texts, [2 * n, 2 * n + 1]);
    }
    const again = await replica(t, name);
    for (const id of ids) assert.equal((await again.all.for(a).get(id))?.n, 2);
    await again.store.close();
    assert.deepEqual(await leftovers(open, name), []);
  });

  test('publishes no event for a write that changed nothing', async (t) => {
    const name = randomUUID();
    const { store, all } = await replica(t, name);
    const mine = all.for(a);
    await mine.insert(newItem('1', { slug: 's' }));
    await assert.rejects(mine.insert(newItem('1'), made(1)));
    await assert.rejects(mine.insert(newItem('2', { slug: 's' }), made(2)));
    assert.equal(await mine.update({ id: '9' }, made(3)), null);
    assert.equal(await mine.replace(newItem('1'), { if: { n: 9 }, ...made(4) }), null);
    await store.close();
    assert.deepEqual(await leftovers(open, name), []);
  });

  test('publishes events of a removed document, which is invisible and whose key is free', async (t) => {
    const name = randomUUID();
    const { store, all } = await replica(t, name);
    const mine = all.for(a);
    await mine.insert(newItem('1', { slug: 's', n: 1 }), made(1));
    assert.equal(await mine.remove({ id: '1' }), 1);

    assert.equal(await mine.get('1'), null);
    assert.deepEqual((await mine.find({})).items, []);
    assert.equal(await mine.count({}), 0);
    assert.equal(await mine.update({ id: '1' }, { inc: { n: 1 } }), null);
    assert.equal(await mine.claim({ n: 1 }, { inc: { n: 1 } }), null);
    assert.equal(await mine.remove({}), 0);
    assert.equal(await all.system().count({ id: '1' }), 0);
    assert.equal(await mine.replace(newItem('1'), { if: { n: 1 } }), null);

    await mine.insert(newItem('2', { slug: 's' }));
    assert.deepEqual(await mine.insert(newItem('1', { n: 2 }), made(2)), newItem('1', { n: 2 }));
    await mine.replace(newItem('1', { n: 3 }), made(3));
    await mine.remove({ id: '1' });
    assert.deepEqual(await mine.replace(newItem('1', { n: 4 }), made(4)), newItem('1', { n: 4 }));
    await mine.remove({});
    await store.close();
    assert.deepEqual(numbers(await leftovers(open, name)), [1, 2, 3, 4]);
  });

  test('publishes events of an expired document', async (t) => {
    const name = randomUUID();
    const { store, all } = await replica(t, name);
    await all.for(a).insert(newItem('1', { expiresAt: store.now() - 60_000 }), made(1));
    await store.close();
    const again = await replica(t, name);
    while ((await again.all.for(a).get('1')) !== null) await wait(20);
    await again.store.close();
    assert.deepEqual(numbers(await leftovers(open, name)), [1]);
  });

  test('another replica takes over pending events of a dead replica after five seconds, never those of a live one', async (t) => {
    const name = randomUUID();
    const dead = await replica(t, name);
    const one = await replica(t, name);
    const other = await replica(t, name);
    const slow = Promise.withResolvers<void>();
    const begun: number[] = [];
    const heard = createListener(async (event) => {
      begun.push(getNumber(event));
      if (getNumber(event) === 0) await slow.promise;
    });
    for (const { store } of [one, other]) await store.publishTo(heard.publish);
    await one.all.for(a).insert(newItem('busy'), made(0));
    const written = Date.now();
    await Promise.all([1, 2].map((n) => dead.all.for(a).insert(newItem(`${n}`), made(n))));
    await dead.all.for(a).update({ id: '1' }, { inc: { n: 1 }, ...made(3) });
    await heard.until(3);
    assert.ok(Date.now() - written >= CLAIM_MS - 100, 'not before their time');
    await wait(CLAIM_MS + 1_500 - (Date.now() - written));
    slow.resolve();
    await heard.until(4);
    assert.deepEqual(
      begun.toSorted((x, y) => x - y),
      [0, 1, 2, 3],
      'two replicas published the same',
    );
    assert.ok(begun.indexOf(1) < begun.indexOf(3));
  });

  test('only the replica that wrote an event publishes it while it lives', async (t) => {
    const name = randomUUID();
    const replicas = await Promise.all(Array.from({ length: 4 }, () => replica(t, name)));
    const heard = createListener(() => wait(5));
    const wrong: number[] = [];
    for (const [mine, { store }] of replicas.entries()) {
      await store.publishTo(async (event) => {
        if (getNumber(event) % replicas.length !== mine) wrong.push(getNumber(event));
        await heard.publish(event);
      });
    }
    await Promise.all(
      Array.from({ length: 40 }, async (_, n) => replicas[n % replicas.length]?.all.for(a).insert(newItem(`${n}`), made(n))),
    );
    await heard.until(40);
    await wait(50);
    assert.deepEqual(wrong, []);
    assert.equal(heard.events.length, 40);
  });

  test('publishes events of at most 100 documents concurrently', async (t) => {
    const { store, all } = await replica(t, randomUUID());
    const gate = Promise.withResolvers<void>();
    const full = Promise.withResolvers<void>();
    let [underWay, max] = [0, 0];
    const heard = createListener(async () => {
      underWay += 1;
      max = Math.max(max, underWay);
      if (underWay === 100) full.resolve();
      await gate.promise;
      underWay -= 1;
    });
    await store.publishTo(heard.publish);
    await Promise.all(Array.from({ length: 250 }, (_, n) => all.for(a).insert(newItem(`${n}`), made(n))));
    await full.promise;
    await wait(20);
    gate.resolve();
    await heard.until(250);
    assert.equal(max, 100);
    assert.equal(new Set(numbers(heard.events)).size, 250);
  });

  test('retries a failed publish in order without delaying other documents', async (t) => {
    const { store, all } = await replica(t, randomUUID());
    const tried: number[] = [];
    const heard = createListener((event) => {
      tried.push(getNumber(event));
      if (getNumber(event) === 1 && tried.filter((n) => n === 1).length <= 2) throw new Error('nobody listens');
    });
    await store.publishTo(heard.publish);
    const mine = all.for(a);
    await mine.insert(newItem('1'), { emit: [...made(1).emit, ...made(2).emit] });
    await mine.insert(newItem('9'), made(9));
    await mine.update({ id: '1' }, { inc: { n: 1 }, ...made(3) });
    await heard.until(4);
    assert.deepEqual(
      tried.filter((n) => n !== 9),
      [1, 1, 1, 2, 3],
    );
    assert.equal(numbers(heard.events)[0], 9);
  });

  test('a permanently rejected event does not block later events', async (t) => {
    const name = randomUUID();
    const { store, all } = await replica(t, name);
    const heard = createListener((event) => {
      if (getNumber(event) === 1) throw new ServiceError('FAILED_PRECONDITION', 'too large');
    });
    await store.publishTo(heard.publish);
    await all.for(a).insert(newItem('1'), { emit: [...made(1).emit, ...made(2).emit] });
    await heard.until(1);
    await store.close();
    assert.deepEqual(numbers(heard.events), [2]);
    assert.deepEqual(await leftovers(open, name), []);
  });

  test('close publishes pending events', async (t) => {
    const { store, all } = await replica(t, randomUUID());
    const heard = createListener();
    await store.publishTo(heard.publish);
    const mine = all.for(a);
    const writes = Promise.all(Array.from({ length: 300 }, (_, n) => mine.insert(newItem(`${n}`), made(n))));
    await store.close();
    await writes;
    assert.equal(heard.events.length, 300);
    await assert.rejects(mine.get('1'), { code: 'UNAVAILABLE' });
    await assert.rejects(mine.insert(newItem('x')), { code: 'UNAVAILABLE' });
  });

  test('the next process publishes events that close could not publish, with the same ids', async (t) => {
    const name = randomUUID();
    const { store, all } = await replica(t, name);
    const tried: string[] = [];
    await store.publishTo(async ({ id }) => {
      tried.push(id);
      throw new Error('nobody listens');
    });
    await all.for(a).insert(newItem('1'), made(1));
    await store.close();
    const next = await replica(t, name);
    const startedCount = Date.now();
    const heard = createListener();
    await next.store.publishTo(heard.publish);
    await heard.until(1);
    assert.ok(Date.now() - startedCount < CLAIM_MS);
    assert.equal(heard.events[0]?.id, tried[0]);
  });
}

/** Collects the events that a new process publishes after the previous one has closed. */
async function leftovers(open: OpenStore, name: string): Promise<Published[]> {
  const store = await open(name);
  await store.open({ items });
  const matches: Published[] = [];
  await store.publishTo(async (event) => void matches.push(event));
  await store.close();
  return matches;
}
