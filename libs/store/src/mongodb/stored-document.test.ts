import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { MongoClient, type Db } from 'mongodb';
import { startMongo, type MongoServer } from '@switchyard/testkit';
import { a, items, newItem, type Item } from '../contract/fixture.contract.ts';
import { openStore, type Store } from '../index.ts';
import type { Documents, FindOptions } from '../port/store.ts';
import type { StoredDocument } from './stored-document.ts';

let server: MongoServer;
let client: MongoClient;
before(async () => {
  server = await startMongo();
  client = await new MongoClient(server.url).connect();
});
after(async () => {
  await client.close();
  await server.stop();
});

interface Opened {
  store: Store;
  mine: Documents<Item>;
  /** The raw documents in the database. */
  db: Db;
}

async function open(t: TestContext, service = `c${randomUUID()}`): Promise<Opened> {
  const store = await openStore(server.url, { service, strict: true });
  t.after(() => store.close());
  const mine = (await store.open({ items })).items.for(a);
  return { store, mine, db: client.db(`${new URL(server.url).pathname.slice(1)}_${service}`) };
}

const made = { emit: [{ name: 'item:made', payload: {} }] };

test('deletes a removed document and the outbox fields of others after publication', async (t) => {
  const { store, mine, db } = await open(t);
  const kept = db.collection<StoredDocument>('items');
  await mine.insert(newItem('stays'), made);
  await mine.insert(newItem('goes'), made);
  await mine.remove({ id: 'goes' });
  assert.deepEqual(
    (await kept.find({ deletedTenant: 'a' }).toArray()).map(({ _id, doc, tenant }) => [_id, doc, tenant]),
    [['a\0goes', undefined, undefined]],
  );
  await store.publishTo(async () => undefined);
  while ((await kept.countDocuments({ lease: { $exists: true } })) > 0) await wait(20);
  const remainingItems = await kept.find({}).toArray();
  assert.deepEqual(
    remainingItems.map(({ _id, outbox, lastEventId, lease }) => [_id, outbox, lastEventId, lease]),
    [['a\0stays', undefined, undefined, undefined]],
  );
});

test('deletes a document that was removed while its events were completed', async (t) => {
  const { store, mine, db } = await open(t);
  const kept = db.collection<StoredDocument>('items');
  await mine.insert(newItem('1'));
  await kept.updateOne({}, { $rename: { tenant: 'deletedTenant' }, $unset: { doc: '' }, $set: { lease: '0' } });
  await store.publishTo(async () => undefined);
  while ((await kept.countDocuments({})) > 0) await wait(20);
  assert.equal(await mine.get('1'), null);
});

test('the lease holder publishes all events of a document that two processes change', async (t) => {
  const service = `c${randomUUID()}`;
  const [one, other] = [await open(t, service), await open(t, service)];
  const receivedMessages: number[] = [];
  for (const { store } of [one, other])
    await store.publishTo(async ({ payload }) => void receivedMessages.push((payload as { n: number }).n));
  await one.mine.insert(newItem('1'));
  const change = ({ mine }: Opened, n: number) =>
    mine.update({ id: '1' }, { inc: { n: 1 }, emit: [{ name: 'item:changed', payload: { n } }] });
  await Promise.all(Array.from({ length: 60 }, (_, n) => change(n % 2 === 0 ? one : other, n)));
  while (receivedMessages.length < 60) await wait(10);
  await wait(50);
  assert.equal(receivedMessages.length, 60, 'none was published twice');
  assert.equal(new Set(receivedMessages).size, 60);
});

test('repeated updates do not exhaust the estimated size of a document', async (t) => {
  const { mine } = await open(t);
  await mine.insert(newItem('1'));
  for (let n = 0; n < 30; n++) assert.ok(await mine.update({ id: '1' }, { set: { note: `${n}`.repeat(50_000) } }));
  await assert.rejects(mine.update({ id: '1' }, { set: { note: 'x'.repeat(1_100_000) } }), { code: 'OUT_OF_RANGE' });
  assert.equal((await mine.update({ id: '1' }, { set: { title: 'y' } }))?.title, 'y');
});

test('updates a unique set when some of its fields change', async (t) => {
  const { mine } = await open(t);
  await mine.insert(newItem('1', { group: 'g', rank: 1 }));
  await mine.insert(newItem('2', { group: 'g', rank: 2 }));
  const taken = { code: 'ALREADY_EXISTS', details: { unique: ['group', 'rank'] } };
  await assert.rejects(mine.update({ id: '2' }, { inc: { rank: -1 } }), taken);
  await assert.rejects(mine.update({ id: '2' }, { set: { rank: 1 } }), taken);
  await mine.update({ id: '1' }, { unset: ['group'] });
  assert.equal((await mine.update({ id: '2' }, { inc: { rank: -1 } }))?.rank, 1);
  await assert.rejects(mine.update({ id: '1' }, { set: { group: 'g' } }), taken);
  await mine.update({ id: '1' }, { set: { group: 'h' } });
  const moves = await Promise.allSettled([1, 2, 3, 4].map((n) => mine.replace(newItem(`r${n}`, { group: 'one', rank: 1 }))));
  assert.equal(moves.filter(({ status }) => status === 'fulfilled').length, 1);
});

test('inc and push treat null as absent and reject other types', async (t) => {
  const { mine, db } = await open(t);
  await mine.insert(newItem('1'));
  await db.collection<StoredDocument>('items').updateOne({}, { $set: { 'doc.tags': null, 'doc.rank': null } });
  const grown = await mine.update({ id: '1' }, { push: { tags: 'x' }, inc: { rank: 2 } });
  assert.deepEqual([grown?.tags, grown?.rank], [['x'], 2]);
  assert.deepEqual(await mine.get('1'), grown);
  await db.collection<StoredDocument>('items').updateOne({}, { $set: { 'doc.tags': 'no list' } }, { bypassDocumentValidation: true });
  await assert.rejects(mine.update({ id: '1' }, { push: { tags: 'x' } }), { code: 'INTERNAL', message: 'items: tags is not a list' });
});

test('pages by a field of mixed types neither repeat nor skip documents', async (t) => {
  const { mine } = await open(t);
  const values = ['b', 2, true, 'a', false, 1, undefined];
  await Promise.all(values.map((mixed, n) => mine.insert(newItem(`${n}`, mixed === undefined ? {} : { mixed }))));
  for (const direction of ['asc', 'desc'] as const) {
    const seen: unknown[] = [];
    for (let options: FindOptions<Item> | undefined = { sort: [['mixed', direction]], limit: 2 }; options;) {
      const { items: page, cursor }: { items: Item[]; cursor?: string } = await mine.find({}, options);
      seen.push(...page.map(({ mixed }) => mixed));
      options = cursor === undefined ? undefined : { ...options, cursor };
    }
    const ascending = [undefined, 1, 2, 'a', 'b', false, true];
    assert.deepEqual(seen, direction === 'asc' ? ascending : ascending.toReversed());
  }
});

test('keeps undeclared indexes for replicas of the previous version', async (t) => {
  const service = `c${randomUUID()}`;
  const { db } = await open(t, service);
  const names = async () => (await db.collection('items').indexes()).map(({ name = '' }) => name).toSorted((x, y) => (x < y ? -1 : 1));
  const all = await names();
  assert.deepEqual(all, [
    '_id_',
    'doc.expiresAt_1',
    'doc.id_1__id_1',
    'doc.n_1__id_1',
    'lease_1',
    'tenant_1_doc.n_1__id_1',
    'tenant_1_doc.title_1_doc.n_1__id_1',
    'unique.group+rank_1',
    'unique.slug_1',
  ]);
  const store = await openStore(server.url, { service });
  await store.open({ items: { ...items, indexes: [], unique: [] } });
  await store.close();
  assert.deepEqual(await names(), all);
});
