import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { a, b, items, newItem, type OpenStore } from './fixture.contract.ts';
import type { OutboxEvent, Publish } from './store.ts';

type Published = Parameters<Publish>[0];

const made = (n: number): { emit: OutboxEvent[] } => ({ emit: [{ name: 'item:made', payload: { n } }] });
const numbers = (events: readonly Published[]) => events.map(({ payload }) => (payload as { n: number }).n);

/** Collects what is published and tells when there is enough. */
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

/** No state without its event, and no event without its state. */
export function outboxContract(open: OpenStore): void {
  test('events are published once, in the order of their writes, with the tenant of the document', async () => {
    const name = randomUUID();
    const store = await open(name);
    const all = (await store.open({ items })).items;
    const heard = createListener();
    await store.publishTo(heard.publish);
    await all.for(a).insert(newItem('1'), made(1));
    await Promise.all([2, 3, 4].map((n) => all.for(b).insert(newItem(`${n}`), made(n))));
    await all.for(a).replace(newItem('1'), made(5));
    await all.for(a).update({ id: '1' }, { inc: { n: 1 }, ...made(6) });
    await all.system().claim({ id: '2' }, { inc: { n: 1 }, emit: [...made(7).emit, ...made(8).emit] });
    await heard.until(8);
    await store.close();

    assert.deepEqual(numbers(heard.events), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert.equal(heard.events.map(({ tenant }) => tenant).join(''), 'abbbaabb');
    assert.equal(new Set(heard.events.map(({ id }) => id)).size, 8);
    assert.deepEqual([heard.events[0]?.name, heard.events[0]?.payload], ['item:made', { n: 1 }]);
    assert.deepEqual(await leftovers(open, name), []);
  });

  test('a write that changed nothing says nothing', async () => {
    const name = randomUUID();
    const store = await open(name);
    const mine = (await store.open({ items })).items.for(a);
    await mine.insert(newItem('1', { slug: 's' }));
    await assert.rejects(mine.insert(newItem('1'), made(1)));
    await assert.rejects(mine.insert(newItem('2', { slug: 's' }), made(2)));
    assert.equal(await mine.update({ id: '9' }, made(3)), null);
    assert.equal(await mine.replace(newItem('1'), { if: { n: 9 }, ...made(4) }), null);
    await store.close();
    assert.deepEqual(await leftovers(open, name), []);
  });

  test('what a crash left unpublished is published by the next process, under the same ids', async () => {
    const name = randomUUID();
    const crashed = await open(name);
    const stuck = Promise.withResolvers<void>();
    const first = Promise.withResolvers<Published>();
    await crashed.publishTo((event) => {
      first.resolve(event);
      return stuck.promise;
    });
    const mine = (await crashed.open({ items })).items.for(a);
    await mine.insert(newItem('1'), made(1));
    await mine.insert(newItem('2'), made(2));
    const attempted = await first.promise;

    const store = await open(name);
    await store.open({ items });
    const heard = createListener();
    await store.publishTo(heard.publish);
    await heard.until(2);
    assert.deepEqual(numbers(heard.events), [1, 2]);
    assert.equal(heard.events[0]?.id, attempted.id);
    await store.close();
    stuck.resolve();
    await crashed.close();
    assert.deepEqual(await leftovers(open, name), []);
  });

  test('a publish that fails is tried again, and nothing overtakes it', async () => {
    const store = await open(randomUUID());
    const tried: string[] = [];
    const heard = createListener((event) => {
      tried.push(event.id);
      if (tried.length <= 2) throw new Error('nobody listens');
    });
    await store.publishTo(heard.publish);
    const mine = (await store.open({ items })).items.for(a);
    await Promise.all([1, 2, 3].map((n) => mine.insert(newItem(`${n}`), made(n))));
    await heard.until(3);
    assert.deepEqual(numbers(heard.events), [1, 2, 3]);
    const [one, ...others] = heard.events.map(({ id }) => id);
    assert.deepEqual(tried, [one, one, one, ...others]);
    await store.close();
  });

  test('an event that is refused for good does not hold up the others', async () => {
    const name = randomUUID();
    const store = await open(name);
    const heard = createListener((event) => {
      if (numbers([event])[0] === 1) throw new ServiceError('FAILED_PRECONDITION', 'too large');
    });
    await store.publishTo(heard.publish);
    const mine = (await store.open({ items })).items.for(a);
    await Promise.all([1, 2].map((n) => mine.insert(newItem(`${n}`), made(n))));
    await heard.until(1);
    await store.close();
    assert.deepEqual(numbers(heard.events), [2]);
    assert.deepEqual(await leftovers(open, name), []);
  });

  test('closing publishes what is owed', async () => {
    const name = randomUUID();
    const store = await open(name);
    const heard = createListener();
    await store.publishTo(heard.publish);
    const mine = (await store.open({ items })).items.for(a);
    const writes = Promise.all([1, 2, 3].map((n) => mine.insert(newItem(`${n}`), made(n))));
    await store.close();
    await writes;
    assert.deepEqual(numbers(heard.events), [1, 2, 3]);
    await assert.rejects(mine.get('1'), { code: 'UNAVAILABLE' });
    await assert.rejects(mine.insert(newItem('4')), { code: 'UNAVAILABLE' });
  });
}

/** What a next process would publish before anything of its own. */
async function leftovers(open: OpenStore, name: string): Promise<Published[]> {
  const store = await open(name);
  const mine = (await store.open({ items })).items.for(a);
  await mine.remove({});
  await mine.insert(newItem('last'), { emit: [{ name: 'last', payload: {} }] });
  const found: Published[] = [];
  const last = Promise.withResolvers<void>();
  await store.publishTo(async (event) => {
    if (event.name === 'last') last.resolve();
    else found.push(event);
  });
  await last.promise;
  await store.close();
  return found;
}
