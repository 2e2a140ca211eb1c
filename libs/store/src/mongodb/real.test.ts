// Tests that require a real MongoDB. They are skipped with the stand-in.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient, MongoServerError } from 'mongodb';
import { startMongoSet, type MongoSet } from '@switchyard/testkit';
import { a, items, newItem } from '../contract/fixture.contract.ts';
import { openStore } from '../index.ts';
import type { Documents } from '../port/store.ts';
import type { StoredDocument } from './stored-document.ts';

let servers: MongoSet | undefined;
let missing = '';
before(async () => {
  servers = await startMongoSet(3, (reason) => (missing = reason));
  if (servers !== undefined) process.stderr.write(`MongoDB is ${servers.name}\n`);
});
after(() => servers?.[Symbol.asyncDispose]());

const PAUSE_MS = 20;

/** Skips the test and returns undefined without a real server. */
async function connected(t: TestContext): Promise<{ set: MongoSet; client: MongoClient; database: string; service: string } | undefined> {
  if (servers === undefined) {
    t.skip(missing);
    return undefined;
  }
  const client = await new MongoClient(servers.url).connect();
  t.after(() => client.close());
  const service = `c${randomUUID()}`;
  return { set: servers, client, service, database: `test_${service}` };
}

/** Codes of a schema violation and of field names that start with a dollar sign. */
const REFUSED = new Set([121, 52]);

test('$jsonSchema rejects values of another type from any client', async (t) => {
  const at = await connected(t);
  if (at === undefined) return;
  const store = await openStore(at.set.url, { service: at.service });
  t.after(() => store.close());
  const mine = (await store.open({ items })).items.for(a);
  await mine.insert(newItem('1', { tags: ['x'], data: { $set: 1 } }));
  const kept = at.client.db(at.database).collection<StoredDocument>('items');
  for (const wrong of [{ 'doc.n': 'text' }, { 'doc.tags': [1] }, { 'doc.data': { $set: 1 } }, { doc: {} }, { tenant: 1 }])
    await assert.rejects(
      kept.updateOne({}, { $set: wrong as object }),
      (error) => error instanceof MongoServerError && REFUSED.has(Number(error.code)),
    );
  await kept.updateOne({}, { $set: { 'doc.later': 1, 'doc.note': null } });
  await openStore(at.set.url, { service: at.service }).then((again) => again.open({ items }).then(() => again.close()));
});

test('accepts a user with readWrite on the database of its service and rejects a wrong password', async (t) => {
  const at = await connected(t);
  if (at === undefined) return;
  const { set, client, database, service } = at;
  const role = { role: 'readWrite', db: database };
  await client.db(database).command({ createUser: 'sessions', pwd: 'right', roles: [role] });
  const as = (password: string) => {
    const address = set.url.replace('mongodb://', `mongodb://sessions:${password}@`);
    // SCRAM-SHA-1 is supported by all server versions.
    return `${address}&authSource=${database}&authMechanism=SCRAM-SHA-1`;
  };
  const store = await openStore(as('right'), { service });
  t.after(() => store.close());
  const mine = (await store.open({ items })).items.for(a);
  assert.deepEqual(await mine.insert(newItem('1')), newItem('1'));
  await assert.rejects(openStore(as('wrong'), { service }), { code: 'FAILED_PRECONDITION', message: /rejects the user sessions/ });
});

test('fail-over: writes during a step-down are applied once or rejected', async (t) => {
  const at = await connected(t);
  if (at === undefined) return;
  const store = await openStore(at.set.url, { service: at.service });
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

type Items = Documents<ReturnType<typeof newItem>>;

async function getDocuments(t: TestContext): Promise<{ set: MongoSet; mine: Items } | undefined> {
  const at = await connected(t);
  if (at === undefined) return undefined;
  const store = await openStore(at.set.url, { service: at.service });
  t.after(() => store.close());
  return { set: at.set, mine: (await store.open({ items })).items.for(a) };
}

const AWAY = /^(UNAVAILABLE|DEADLINE_EXCEEDED)$/;
const WRITERS = 20;
/** Writes of each writer after the kill. */
const MORE = 5;

test('fail-over: after the primary is killed under twenty writers, acknowledged writes exist exactly once', async (t) => {
  const at = await getDocuments(t);
  if (at === undefined) return;
  const { set, mine } = at;
  await mine.insert(newItem('count'));
  const killed = await set.primary();
  const all = Array.from({ length: WRITERS }, (_, n) => writer(mine, String(n), t.signal));
  await Promise.all(all.map(({ begun }) => begun));
  await killed.kill();
  for (const one of all) one.killed();
  const wrote = await Promise.all(all.map(({ ended }) => ended));
  assert.notEqual((await set.primary()).port, killed.port);
  await killed.restart();
  const acknowledged = wrote.flatMap(({ ids }) => ids);
  for (const id of acknowledged) assert.ok(await mine.get(id), `${id} was acknowledged and is lost`);
  const { n = 0 } = (await mine.get('count')) ?? {};
  const counted = wrote.reduce((sum, one) => sum + one.counted, 0);
  const tried = wrote.reduce((sum, one) => sum + one.tried, 0);
  assert.ok(n >= counted && n <= tried, `${counted} of ${tried} were acknowledged and ${n} are there`);
  t.diagnostic(`${acknowledged.length} documents and ${counted} of ${tried} increments acknowledged, ${n} there`);
});

/** Inserts documents and increments a counter sequentially, until some writes succeed after the kill. */
function writer(mine: Items, name: string, signal: AbortSignal) {
  const begun = Promise.withResolvers<void>();
  let isKilled = false;
  async function run() {
    const wrote = { ids: [] as string[], counted: 0, tried: 0 };
    for (let [n, after] = [0, 0]; after < MORE; n += 1) {
      signal.throwIfAborted();
      const id = `${name}-${n}`;
      wrote.tried += 1;
      try {
        await mine.insert(newItem(id));
        wrote.ids.push(id);
        await mine.update({ id: 'count' }, { inc: { n: 1 } });
        wrote.counted += 1;
        if (isKilled) after += 1;
      } catch (error) {
        assert.match((error as { code: string }).code, AWAY);
      }
      begun.resolve();
    }
    return wrote;
  }
  return { begun: begun.promise, killed: () => void (isKilled = true), ended: run() };
}

test('write concern: does not acknowledge a write without a majority', async (t) => {
  const at = await getDocuments(t);
  if (at === undefined) return;
  const { set, mine } = at;
  await mine.insert(newItem('before'));
  const primary = await set.primary();
  const others = set.members.filter((one) => one !== primary);
  for (const one of others) one.pause();
  try {
    await assert.rejects(mine.insert(newItem('alone')), ({ code }: { code: string }) => AWAY.test(code));
  } finally {
    for (const one of others) one.goOn();
  }
  await writable(mine, t.signal);
});

/**
 * Repeats a write until it succeeds or the test times out. The pause lets the event loop process the reconnect, because an unavailable
 * store rejects immediately.
 */
async function writable(mine: Items, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n += 1) {
    const done = await mine.insert(newItem(`again-${n}`)).then(
      () => true,
      () => false,
    );
    if (done) return;
    await delay(PAUSE_MS);
  }
}
