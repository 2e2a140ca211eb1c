import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { a, b, code, items, newItem, type Fresh, type Item, type OpenStore } from './fixture.contract.ts';
import { jsonContract } from './json.contract.ts';
import { outboxContract } from './outbox.contract.ts';
import { poolContract } from './pool.contract.ts';
import { queriesContract } from './queries.contract.ts';
import type { Collection } from '../port/store.ts';

/** Registers the tests that every store adapter must pass. Opening a name again must return the same documents. */
export function storeContract(name: string, open: OpenStore): void {
  async function fresh(t: TestContext): Promise<Collection<Item>> {
    const store = await open(randomUUID());
    t.after(() => store.close());
    return (await store.open({ items })).items;
  }

  describe(`store on ${name}`, () => {
    documentsContract(fresh);
    queriesContract(fresh);
    tenantsContract(fresh);
    hostileContract(fresh);
    jsonContract(fresh);
    poolContract(open);
    identityContract(open);
    expiryContract(open);
    outboxContract(open);
  });
}

function identityContract(open: OpenStore): void {
  test('a database keeps its identity, which differs from that of other databases', async () => {
    const [one, other] = [randomUUID(), randomUUID()];
    const getIdentity = async (name: string): Promise<string> => {
      const store = await open(name);
      await store.close();
      return store.identity;
    };
    const identity = await getIdentity(one);
    assert.equal(await getIdentity(one), identity);
    assert.notEqual(await getIdentity(other), identity);
  });
}

function documentsContract(fresh: Fresh): void {
  test('inserts, reads, changes, replaces and removes a document', async (t) => {
    const mine = (await fresh(t)).for(a);
    const made = newItem('1', { n: 1, tags: ['x'] });
    assert.deepEqual(await mine.insert(made), made);
    assert.deepEqual(await mine.get('1'), made);
    assert.equal(await mine.get('2'), null);

    const changed = await mine.update({ id: '1' }, { set: { title: 'new' }, inc: { n: 4 }, push: { tags: 'y' }, unset: ['note'] });
    assert.deepEqual(changed, { ...made, title: 'new', n: 5, tags: ['x', 'y'] });
    assert.deepEqual(await mine.get('1'), changed);

    assert.deepEqual(await mine.replace(newItem('1', { title: 'other' })), newItem('1', { title: 'other' }));
    assert.deepEqual(await mine.replace(newItem('3')), newItem('3'));
    assert.equal(await mine.count({}), 2);
    assert.equal(await mine.remove({ id: { in: ['1', '3', '4'] } }), 2);
    assert.equal(await mine.get('1'), null);
  });

  test('fills defaults; inc and push start from an absent value', async (t) => {
    const mine = (await fresh(t)).for(a);
    const { n, ...withoutN } = newItem('1');
    assert.equal(n, 0);
    assert.deepEqual(await mine.insert(withoutN as Item), newItem('1'));
    assert.deepEqual(await mine.update({ id: '1' }, { inc: { rank: 2 }, push: { tags: 'x' } }), newItem('1', { rank: 2, tags: ['x'] }));
    assert.deepEqual(await mine.update({ id: '1' }, { unset: ['tags', 'rank'] }), newItem('1'));
  });

  test('every read fills the default of a missing field', async (t) => {
    const mine = (await fresh(t)).for(a);
    await mine.insert(newItem('1', { n: 7 }));
    assert.equal((await mine.update({ id: '1' }, { unset: ['n'] }))?.n, 0);
    assert.equal((await mine.get('1'))?.n, 0);
    assert.deepEqual(
      (await mine.find({})).items.map(({ n }) => n),
      [0],
    );
    assert.equal((await mine.claim({ n: null }, { set: { title: 'x' } }))?.n, 0);
    assert.equal((await mine.update({ id: '1' }, { inc: { n: 2 } }))?.n, 2);
  });

  test('rejects a duplicate key or unique set and exempts documents that lack one of its fields', async (t) => {
    const mine = (await fresh(t)).for(a);
    await mine.insert(newItem('1', { slug: 's', group: 'g', rank: 1 }));
    await assert.rejects(mine.insert(newItem('1')), taken(['id']));
    await assert.rejects(mine.insert(newItem('2', { slug: 's' })), taken(['slug']));
    await assert.rejects(mine.replace(newItem('2', { group: 'g', rank: 1 })), taken(['group', 'rank']));
    for (const id of ['3', '4']) await mine.insert(newItem(id, { group: 'g' }));
    await mine.insert(newItem('5', { group: 'h', rank: 1 }));
    await assert.rejects(mine.update({ id: '5' }, { set: { group: 'g' } }), taken(['group', 'rank']));
    assert.equal((await mine.get('5'))?.group, 'h');
  });

  test('returns null and changes nothing when the guard does not match', async (t) => {
    const mine = (await fresh(t)).for(a);
    await mine.insert(newItem('1', { n: 1 }));
    assert.equal(await mine.update({ id: '1' }, { set: { title: 'no' }, if: { n: 2 } }), null);
    assert.equal(await mine.replace(newItem('1', { title: 'no' }), { if: { n: { gt: 1 } } }), null);
    assert.equal(await mine.replace(newItem('2'), { if: { n: 0 } }), null, 'nothing to guard is a miss');
    assert.deepEqual((await mine.find({})).items, [newItem('1', { n: 1 })]);
    assert.equal((await mine.update({ id: '1' }, { set: { title: 'yes' }, if: { n: 1 } }))?.title, 'yes');
    assert.equal((await mine.replace(newItem('1', { n: 3 }), { if: { title: 'yes' } }))?.n, 3);
  });

  test('resolves concurrent replaces of a new key and keeps one of them', async (t) => {
    const mine = (await fresh(t)).for(a);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => mine.replace(newItem('new', { n }))));
    assert.deepEqual(
      answers.map((answer) => answer?.n),
      Array.from({ length: 20 }, (_, n) => n),
    );
    assert.equal(await mine.count({}), 1);
  });

  test('rejects a document above 1 MiB before writing', async (t) => {
    const mine = (await fresh(t)).for(a);
    const tooLarge = (error: unknown): boolean =>
      error instanceof ServiceError &&
      error.code === 'OUT_OF_RANGE' &&
      error.message.startsWith('items: a document has at most 1048576 bytes');
    const large = 'é'.repeat(520_000);
    await mine.insert(newItem('1', { title: large }));
    await assert.rejects(mine.insert(newItem('2', { title: `${large}${'x'.repeat(20_000)}` })), tooLarge);
    await assert.rejects(mine.replace(newItem('1', { data: `${large}${'x'.repeat(20_000)}` })), tooLarge);
    await assert.rejects(mine.update({ id: '1' }, { set: { note: 'x'.repeat(20_000) }, inc: { n: 1 } }), tooLarge);
    await assert.rejects(mine.claim({ n: 0 }, { push: { tags: 'x'.repeat(20_000) }, inc: { n: 1 } }), tooLarge);
    assert.deepEqual((await mine.find({})).items, [newItem('1', { title: large })]);
    assert.equal((await mine.update({ id: '1' }, { inc: { n: 1 } }))?.n, 1);
  });

  test('exactly one of many concurrent claims on a document succeeds', async (t) => {
    const mine = (await fresh(t)).for(a);
    await mine.insert(newItem('1', { title: 'queued' }));
    const claims = Array.from({ length: 50 }, (_, n) => mine.claim({ title: 'queued' }, { set: { title: 'taken', note: `by ${n}` } }));
    const won = (await Promise.all(claims)).filter((claimed) => claimed !== null);
    assert.equal(won.length, 1);
    assert.deepEqual(won[0], await mine.get('1'));
  });

  test('concurrent claims take each document of a queue once and in order', async (t) => {
    const mine = (await fresh(t)).for(a);
    await Promise.all([3, 1, 5, 2, 4].map((n) => mine.insert(newItem(`k${n}`, { n, title: 'queued' }))));
    const claim = () => mine.claim({ title: 'queued' }, { set: { title: 'taken' } }, { sort: [['n', 'asc']] });
    assert.deepEqual(
      [await claim(), await claim()].map((claimed) => claimed?.n),
      [1, 2],
    );
    const rest = await Promise.all([claim(), claim(), claim(), claim()]);
    assert.deepEqual(
      rest.map((claimed) => claimed?.n ?? 0).toSorted((x, y) => x - y),
      [0, 3, 4, 5],
    );
  });

  test('applies all concurrent increments', async (t) => {
    const mine = (await fresh(t)).for(a);
    await mine.insert(newItem('1'));
    await Promise.all(Array.from({ length: 40 }, () => mine.update({ id: '1' }, { inc: { n: 1 } })));
    assert.equal((await mine.get('1'))?.n, 40);
  });

  test('resolves a thousand concurrent inserts and rejects only the failing one', async (t) => {
    const mine = (await fresh(t)).for(a);
    const inserts = Array.from({ length: 1_000 }, (_, n) => mine.insert(newItem(n === 500 ? 'k499' : `k${n}`)));
    const results = await Promise.allSettled(inserts);
    assert.deepEqual(
      results.flatMap(({ status }, n) => (status === 'rejected' ? [n] : [])),
      [500],
    );
    assert.equal(await mine.count({}), 999);
  });

  test('executes operations on a document in call order without awaiting them', async (t) => {
    const mine = (await fresh(t)).for(a);
    const writes = [mine.insert(newItem('1')), mine.update({ id: '1' }, { inc: { n: 1 } })];
    await Promise.all(writes);
    assert.equal((await mine.get('1'))?.n, 1);
  });

  test('copies documents on write and on read', async (t) => {
    const mine = (await fresh(t)).for(a);
    const options = newItem('1', { tags: ['x'] });
    const inserted = mine.insert(options);
    options.tags?.push('late');
    (await inserted).tags?.push('later');
    assert.deepEqual((await mine.get('1'))?.tags, ['x']);
  });

  test('reports misuse as INTERNAL without values in the message', async (t) => {
    const mine = (await fresh(t)).for(a);
    await mine.insert(newItem('1', { tags: ['x'] }));
    const secret = 'hunter2-hunter2';
    const mistakes: (() => Promise<unknown>)[] = [
      () => mine.insert(wrong({ ...newItem('2'), n: secret })),
      () => mine.replace({ ...newItem(''), title: secret }),
      () => mine.update({ id: '1' }, { set: wrong({ n: secret }) }),
      () => mine.update({ id: '1' }, { set: { id: secret } }),
      () => mine.update({ id: '1' }, { set: wrong({ tenant: secret }) }),
      () => mine.update({ id: '1' }, { inc: wrong({ title: 1 }) }),
      () => mine.update({ id: '1' }, { push: wrong({ title: secret }) }),
      () => mine.update({ id: '1' }, { set: { n: 1 }, inc: { n: 1 } }),
      () => mine.insert(wrong({ ...newItem('2'), place: { x: 1, $where: secret } })),
      () => mine.replace(wrong({ ...newItem('2'), place: { x: 1, 'a.b': secret } })),
      () => mine.update({ id: '1' }, { set: wrong({ place: { x: 1, y: { $set: secret } } }) }),
      () => mine.find(wrong({ "x') OR 1=1 --": secret })),
      () => mine.find(wrong({ tenant: 'b' })),
      () => mine.remove(wrong({ title: undefined })),
      () => mine.remove(wrong({ title: { $ne: secret } })),
      () => mine.remove(wrong({ title: { gt: null } })),
      () => mine.remove(wrong({ tags: [secret] })),
      () => mine.remove({ title: {} }),
      () => mine.find(wrong({ data: secret })),
      () => mine.find(wrong({ calls: { has: secret } })),
      () => mine.find({}, { sort: [['data', 'asc']] }),
      () => mine.find(wrong({ tags: { has: null } })),
      () => mine.find(wrong({ tags: { has: { $ne: secret } } })),
      () => mine.update({ id: '1' }, { pull: wrong({ tags: { $ne: secret } }) }),
      () => mine.update({ id: '1' }, { pull: wrong({ title: secret }) }),
      () => mine.update({ id: '1' }, { pull: wrong({ calls: secret }) }),
      () => mine.update({ id: '1' }, { pull: { tags: 'x' }, push: { tags: 'y' } }),
      () => mine.find({}, { sort: [wrong(['nope', 'asc'])] }),
      () => mine.find({}, { limit: 0 }),
    ];
    for (const mistake of mistakes) {
      await assert.rejects(mistake, (error) => {
        assert.ok(error instanceof ServiceError && error.code === 'INTERNAL', `${mistake.toString()}: ${String(error)}`);
        assert.ok(!error.message.includes(secret), error.message);
        return true;
      });
    }
    assert.deepEqual((await mine.find({})).items, [newItem('1', { tags: ['x'] })]);
  });
}

function tenantsContract(fresh: Fresh): void {
  test('isolates keys, unique sets and documents of tenants', async (t) => {
    const all = await fresh(t);
    const [mine, theirs] = [all.for(a), all.for(b)];
    await mine.insert(newItem('1', { slug: 's', title: 'mine' }));
    await theirs.insert(newItem('1', { slug: 's', title: 'theirs' }));
    await theirs.insert(newItem('2'));

    assert.equal((await mine.get('1'))?.title, 'mine');
    assert.equal(await mine.get('2'), null);
    assert.deepEqual(
      (await mine.find({ slug: 's' })).items.map(({ title }) => title),
      ['mine'],
    );
    assert.equal(await mine.count({}), 1);
    assert.equal(await mine.update({ id: '2' }, { set: { title: 'no' } }), null);
    assert.equal(await mine.claim({ title: 'theirs' }, { set: { title: 'no' } }), null);
    await mine.replace(newItem('2', { title: 'mine too' }));
    assert.equal(await mine.remove({}), 2);
    assert.deepEqual((await theirs.find({})).items, [newItem('1', { slug: 's', title: 'theirs' }), newItem('2')]);
    assert.throws(() => all.for({ tenant: '' }), code('INTERNAL'));
  });

  test('system() reads documents of all tenants with their tenant', async (t) => {
    const all = await fresh(t);
    await all.for(a).insert(newItem('1', { n: 1 }));
    await all.for(b).insert(newItem('1', { n: 2 }));
    await all.for(b).insert(newItem('2', { n: 3 }));
    const system = all.system();

    assert.deepEqual((await system.find({}, { sort: [['n', 'desc']] })).items, [
      newItem('2', { n: 3, tenant: 'b' }),
      newItem('1', { n: 2, tenant: 'b' }),
      newItem('1', { n: 1, tenant: 'a' }),
    ]);
    assert.equal(await system.count({ tenant: 'b' }), 2);
    assert.deepEqual(
      await system.claim({ n: { gt: 1 } }, { inc: { n: 10 } }, { sort: [['n', 'asc']] }),
      newItem('1', { n: 12, tenant: 'b' }),
    );
    assert.deepEqual(await all.for(b).get('1'), newItem('1', { n: 12 }), 'the tenant is not in the document');
    const page = await system.find({}, { limit: 2 });
    assert.deepEqual(
      (await system.find({}, { limit: 2, cursor: page.cursor ?? '' })).items.map(({ id, tenant }) => tenant + id),
      ['b2'],
    );
    assert.equal(await system.remove({ id: '1' }), 2);
  });

  test('strict mode rejects a cross-tenant query without an index and names its fields', async (t) => {
    const system = (await fresh(t)).system();
    const refused: (() => Promise<unknown>)[] = [
      () => system.find({ title: 'x' }),
      () => system.find({ slug: 's' }),
      () => system.find({ n: { ne: 1 } }),
      () => system.find({ n: null }),
      () => system.find({}, { sort: [['title', 'asc']] }),
      () => system.count({ title: { exists: true } }),
      () => system.count({}),
      () => system.remove({}),
      () => system.update({ title: 'x' }, { inc: { n: 1 } }),
      () => system.claim({ title: 'x' }, { inc: { n: 1 } }),
    ];
    for (const query of refused) {
      await assert.rejects(query, (error) => {
        assert.ok(error instanceof ServiceError && error.code === 'INTERNAL', query.toString());
        assert.match(error.message, /^items: no index serves .* across tenants; declare one with across: true$/);
        return true;
      });
    }
    await system.find({ title: 'x', tenant: 'a' });
    await system.find({ title: 'x', n: { gte: 1 } });
    await system.find({}, { sort: [['n', 'desc']] });
    await system.find({});
    await system.update({ id: '1', title: 'x' }, { inc: { n: 1 }, if: { slug: 's' } });
  });
}

function hostileContract(fresh: Fresh): void {
  test('stores field values that are reserved names elsewhere', async (t) => {
    const mine = (await fresh(t)).for(a);
    const text = `{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"$gt":"","$where":"1","a.b":{"c.d":[{"__proto__":null}]},"":0}`;
    const data: unknown = JSON.parse(text);
    const labels = JSON.parse('{"__proto__":"x","$set":"y","a.b":"z"}') as Record<string, string>;
    const hostile = newItem(`'; DROP TABLE items; --`, { data, labels, title: '$n', note: `{"$gt":""}` });
    await mine.insert(hostile);
    await mine.insert(newItem('2', { note: '' }));
    const got = await mine.get(hostile.id);
    assert.deepEqual(got, hostile);
    assert.equal(JSON.stringify(got?.data), text);
    assert.equal(JSON.stringify(got?.labels), JSON.stringify(labels));
    await mine.update({ id: '2' }, { set: { data } });
    assert.equal(JSON.stringify((await mine.get('2'))?.data), text);
    assert.equal(await mine.count({ note: `{"$gt":""}` }), 1);
    assert.equal(await mine.count({ title: { in: ['$n', `%`] } }), 1);
    assert.equal(Reflect.get({}, 'polluted'), undefined);
  });

  test('returns any text and a document of 1 MiB unchanged', async (t) => {
    const mine = (await fresh(t)).for(a);
    const odd = newItem('ключ 🔑 "\\', {
      title: 'a\u0000b\u2028 \\u0000 \\ud800 🚂',
      note: '\ud83d\ude82',
      tags: ['a\u0000', '$x', 'a.b'],
      data: { text: 'x'.repeat(1_000_000), n: [1.5, -0.25, 1e21, null] },
    });
    await mine.insert(odd);
    assert.deepEqual(await mine.get(odd.id), odd);
    assert.deepEqual((await mine.find({ id: odd.id, note: odd.note ?? null })).items, [odd]);
    assert.equal(await mine.count({ title: odd.title, tags: { has: 'a\u0000' } }), 1);
    assert.equal(await mine.count({ title: 'a' }), 0);
  });
}

function expiryContract(open: OpenStore): void {
  test('removes expired documents only', async (t) => {
    const name = randomUUID();
    const store = await open(name);
    const mine = (await store.open({ items })).items.for(a);
    await mine.insert(newItem('old', { expiresAt: store.now() - 60_000 }));
    await mine.insert(newItem('young', { expiresAt: store.now() + 60_000 }));
    await mine.insert(newItem('without'));
    await store.close();

    const again = await open(name);
    t.after(() => again.close());
    const reopened = (await again.open({ items })).items.for(a);
    const deadline = Date.now() + 120_000;
    while ((await reopened.get('old')) !== null && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.deepEqual(
      (await reopened.find({})).items.map(({ id }) => id),
      ['without', 'young'],
    );
  });

  test('the clock of the database is close to the local clock', async (t) => {
    const store = await open(randomUUID());
    t.after(() => store.close());
    assert.ok(Math.abs(store.now() - Date.now()) < 60_000);
  });
}

function taken(unique: readonly string[]) {
  return (error: unknown) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, 'ALREADY_EXISTS');
    assert.deepEqual(error.details.unique, unique);
    return true;
  };
}

/** Bypasses the types to pass an invalid value. */
function wrong(value: object): never {
  return value as never;
}
