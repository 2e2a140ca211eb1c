// What only MongoDB itself can show. Against a stand-in each says by name that it did not run.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test, type TestContext } from 'node:test';
import { MongoClient, MongoServerError } from 'mongodb';
import { startMongo, type MongoServer } from '@switchyard/testkit';
import { a, items, newItem } from '../fixture.contract.ts';
import { openStore } from '../index.ts';
import type { Kept } from './kept.ts';

let server: MongoServer;
before(async () => {
  server = await startMongo();
});
after(() => server.stop());

/** Undefined, and said, where there is none. */
async function connected(t: TestContext): Promise<{ client: MongoClient; database: string; service: string } | undefined> {
  if (!server.real) {
    t.skip(`needs MongoDB itself, and this is ${server.name}`);
    return undefined;
  }
  const client = await new MongoClient(server.url).connect();
  t.after(() => client.close());
  const service = `c${randomUUID()}`;
  return { client, service, database: `${new URL(server.url).pathname.slice(1)}_${service}` };
}

test('$jsonSchema: the database refuses what has another type than the schema says, whoever writes it', async (t) => {
  const at = await connected(t);
  if (at === undefined) return;
  const store = await openStore(server.url, { service: at.service });
  t.after(() => store.close());
  const mine = (await store.open({ items })).items.for(a);
  await mine.insert(newItem('1', { tags: ['x'], data: { $set: 1 } }));
  const kept = at.client.db(at.database).collection<Kept>('items');
  for (const wrong of [{ 'doc.n': 'text' }, { 'doc.tags': [1] }, { 'doc.data': { $set: 1 } }, { doc: {} }, { tenant: 1 }])
    await assert.rejects(kept.updateOne({}, { $set: wrong as object }), (error) => error instanceof MongoServerError && error.code === 121);
  await kept.updateOne({}, { $set: { 'doc.later': 1, 'doc.note': null } });
  await openStore(server.url, { service: at.service }).then((again) => again.open({ items }).then(() => again.close()));
});

test('users: one with the role readWrite on the database of its service is enough, and a wrong password is refused', async (t) => {
  const at = await connected(t);
  if (at === undefined) return;
  const { client, database, service } = at;
  const role = { role: 'readWrite', db: database };
  await client.db(database).command({ createUser: 'sessions', pwd: 'right', roles: [role] });
  const as = (password: string) => {
    const url = new URL(server.url.replace('mongodb://', `mongodb://sessions:${password}@`));
    url.searchParams.set('authSource', database);
    return url.href;
  };
  const store = await openStore(as('right'), { service });
  t.after(() => store.close());
  const mine = (await store.open({ items })).items.for(a);
  assert.deepEqual(await mine.insert(newItem('1')), newItem('1'));
  await assert.rejects(openStore(as('wrong'), { service }), { code: 'FAILED_PRECONDITION', message: /refuses the user sessions/ });
});

test('fail-over: what is written while the primary steps down is written once, or says that it is not', async (t) => {
  const at = await connected(t);
  if (at === undefined) return;
  const store = await openStore(server.url, { service: at.service });
  t.after(() => store.close());
  const mine = (await store.open({ items })).items.for(a);
  await mine.insert(newItem('count'));
  const stepDown = at.client
    .db('admin')
    .command({ replSetStepDown: 1, force: true })
    .catch(() => undefined);
  const counted = await Promise.allSettled(Array.from({ length: 20 }, () => mine.update({ id: 'count' }, { inc: { n: 1 } })));
  await stepDown;
  const done = counted.filter(({ status }) => status === 'fulfilled').length;
  const { n = 0 } = (await mine.get('count')) ?? {};
  assert.ok(n >= done && n <= counted.length, `${done} were acknowledged and ${n} are there`);
  for (const one of counted)
    if (one.status === 'rejected') assert.match((one.reason as { code: string }).code, /^(UNAVAILABLE|DEADLINE_EXCEEDED)$/);
});
