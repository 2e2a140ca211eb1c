import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import type { AuditRecord } from '@switchyard/contracts';
import { checkChain, linkHash, linkMac, createEncryptionKey } from '@switchyard/security';
import { openStore, type Collection, type Document, type Store } from '@switchyard/store';
import { silentLogger } from '@switchyard/telemetry';
import { principal, tempDir } from '@switchyard/testkit';
import {
  pendingCallCollection,
  auditCollection,
  auditHeadCollection,
  dataKeyCollection,
  type PendingCallDocument,
  type AuditData,
} from '../documents/collections.ts';
import { ENV, root, secondReplica, start } from '../secrets.fixture.ts';
import { loadAuditKey, isEncrypted, openDataKey } from '../values/data-key.ts';
import { createAuditChain } from './audit-chain.ts';
import { openAuditLog, type AuditLog } from './audit-log.ts';

const TIMEOUT = { timeout: 30_000 };
const TENANT = { tenant: 'default' };
const DEADLINE_MS = 30_000;
/** After this time the sweep records calls that began at the start. */
const LONG_AFTER_MS = 3_600_000;

interface World {
  data: AuditData;
  store: Store;
  received: string[];
  /** Simulates a replica that crashes at a write: this write fails before or after it is stored, and all later writes fail. */
  replica(death?: Death): AuditLog;
}

interface Death {
  write: 'record' | 'head' | 'removal';
  when: 'before' | 'after';
}

async function openWorld(t: TestContext): Promise<World> {
  const dir = await tempDir();
  t.after(() => dir[Symbol.asyncDispose]());
  const store = await openStore(`sqlite:${dir.path}`, { service: 'secrets', log: silentLogger(), strict: true });
  t.after(() => store.close());
  const received: string[] = [];
  await store.publishTo(async ({ payload }) => void received.push((payload as { outcome: string }).outcome));
  const data = await store.open({ records: auditCollection, heads: auditHeadCollection, pendingCalls: pendingCallCollection });
  return {
    data,
    store,
    received,
    replica: (death) => opened(t, openAuditLog({ data: death ? dying(data, death) : data, store, log: silentLogger() })),
  };
}

function opened(t: TestContext, audit: AuditLog): AuditLog {
  t.after(() => audit[Symbol.asyncDispose]());
  return audit;
}

function dying(data: AuditData, { write, when }: Death): AuditData {
  let dead = false;
  const fatal =
    (name: Death['write'] | undefined, act: (...options: never[]) => unknown) =>
    async (...options: never[]): Promise<unknown> => {
      if (dead) throw new Error('it is dead');
      dead = name === write;
      if (dead && when === 'before') throw new Error('it dies');
      const done = await act(...options);
      if (dead) throw new Error('it dies');
      return done;
    };
  const wrap = <D extends Document>(
    all: Collection<D>,
    names: Partial<Record<'insert' | 'update' | 'remove', Death['write']>>,
  ): Collection<D> => ({
    ...all,
    for: (whose) => {
      const documents = all.for(whose) as unknown as Record<string, (...options: never[]) => unknown>;
      const names_ = names as Record<string, Death['write'] | undefined>;
      const calls = ['get', 'insert', 'update', 'find', 'count', 'remove'].map((name) => [
        name,
        fatal(names_[name], (...options) => documents[name]?.(...options)),
      ]);
      return Object.fromEntries(calls) as ReturnType<typeof all.for>;
    },
  });
  return {
    records: wrap(data.records, { insert: 'record' }),
    heads: wrap(data.heads, { insert: 'head', update: 'head' }),
    pendingCalls: wrap(data.pendingCalls, { remove: 'removal' }),
  };
}

const act = (id: string) => ({
  id,
  method: 'tokens.revoke',
  kind: 'destructive' as const,
  target: { id: 'laptop' },
  requestId: 'req_1',
  service: 'secrets' as const,
  replica: 'secrets-1',
});

async function begin(audit: AuditLog, { store }: World, id: string): Promise<void> {
  await audit.begin(root, { ...act(id), deadline: store.now() + DEADLINE_MS });
}

/** Verifies the chain and returns its records with their outcomes. */
async function onRecord({ data, store }: World): Promise<[string, string][]> {
  const { records, head } = await createAuditChain(data, 'default', { store }).read(0, 1_000);
  const check = checkChain();
  for (const record of records) assert.equal(check.next(record), undefined);
  assert.ok(head.seq <= records.length);
  return records.map(({ id, outcome }) => [id, outcome]);
}

test('a method call is recorded before its answer, with client, target and outcome, and without values', TIMEOUT, async () => {
  await using app = await start();
  await app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] });
  await assert.rejects(app.bus.call('tokens.revoke', { id: 'nobody' }), { code: 'NOT_FOUND' });
  const limited = app.bus.as(principal({ client: 'deputy', scopes: ['admin'] }));
  await assert.rejects(limited.call('tokens.create', { id: 'up', scopes: ['*'] }), { code: 'PERMISSION_DENIED' });
  await assert.rejects(app.bus.call('env.set', { key: 'A', value: 'canary-value' }), { code: 'FAILED_PRECONDITION' });
  await app.bus.call('tokens.list', {});
  const { records } = await app.bus.call('audit.read', { after: 0, limit: 10 });
  assert.deepEqual(
    records.map(({ seq, client, method, kind, target, outcome, code }) => [seq, client, method, kind, target, outcome, code]),
    [
      [1, 'root', 'tokens.create', 'destructive', { id: 'ci' }, 'success', undefined],
      [2, 'root', 'tokens.revoke', 'destructive', { id: 'nobody' }, 'failure', 'NOT_FOUND'],
      [3, 'deputy', 'tokens.create', 'destructive', { id: 'up' }, 'denied', 'PERMISSION_DENIED'],
      [4, 'root', 'env.set', 'destructive', { key: 'A' }, 'failure', 'FAILED_PRECONDITION'],
    ],
  );
  assert.ok(!JSON.stringify(records).includes('canary-value') && !JSON.stringify(records).includes(ENV));
  const { timestamp: _, ...event } = await app.nextEvent('audit:event');
  const { metadata, ...rest } = event;
  assert.deepEqual(rest, {
    agentId: 'root',
    tenantId: 'default',
    actionType: 'tokens.create',
    classification: 'destructive',
    outcome: 'success',
  });
  assert.deepEqual([metadata?.['seq'], metadata?.['hash'], metadata?.['id']], [1, records[0]?.hash, records[0]?.id]);
});

test('two replicas append to one chain per tenant without a gap', TIMEOUT, async () => {
  await using app = await start();
  await using _other = await secondReplica(app);
  const elsewhere = app.bus.as(principal({ tenant: 'other', client: 'them', scopes: ['*'] }));
  const make = (n: number) => (n % 5 === 0 ? elsewhere : app.bus).call('tokens.create', { id: `t${n}`, scopes: ['rpc'] });
  await Promise.all(Array.from({ length: 50 }, (_, n) => make(n)));
  for (const [bus, max] of [
    [app.bus, 40],
    [elsewhere, 10],
  ] as const) {
    const { records, head } = await bus.call('audit.read', { after: 0, limit: 100 });
    const check = checkChain();
    for (const record of records) assert.equal(check.next(record), undefined);
    assert.deepEqual([check.at, records.length], [head, max]);
  }
});

const changes: Readonly<Record<string, { change: (world: World) => Promise<unknown>; found: RegExp }>> = {
  'a change of what a record says': {
    change: ({ data }) => data.records.for(TENANT).update({ seq: 2 }, { set: { client: 'somebody else' } }),
    found: /record 2 was changed/,
  },
  'a change that makes the hash right again': {
    async change({ data }) {
      const { key: _, ...record } = (await data.records.for(TENANT).find({ seq: 2 })).items[0] ?? assert.fail();
      const changed = { ...record, client: 'somebody else' };
      await data.records.for(TENANT).update({ seq: 2 }, { set: { client: changed.client, hash: linkHash(changed) } });
    },
    found: /record 3 does not follow record 2/,
  },
  'a record that is gone': { change: ({ data }) => data.records.for(TENANT).remove({ seq: 2 }), found: /record 2 is missing/ },
  'two that changed places': {
    async change({ data }) {
      const tenantDocuments = data.records.for(TENANT);
      const [two, three] = (await tenantDocuments.find({ seq: { gte: 2, lte: 3 } }, { sort: [['seq', 'asc']] })).items;
      assert.ok(two && three);
      await tenantDocuments.remove({ seq: { gte: 2, lte: 3 } });
      await tenantDocuments.insert({ ...three, seq: 2, key: two.key });
      await tenantDocuments.insert({ ...two, seq: 3, key: three.key });
    },
    found: /record 2 was changed/,
  },
  'the end that is gone': { change: ({ data }) => data.records.for(TENANT).remove({ seq: { gte: 4 } }), found: /ends at 3.*5/ },
};

for (const [description, { change, found }] of Object.entries(changes))
  test(`verification reports ${description}`, TIMEOUT, async (t) => {
    const world = await openWorld(t);
    const audit = world.replica();
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      await begin(audit, world, id);
      await audit.finish(root, id, { outcome: 'success' });
    }
    await change(world);
    const { records, head } = await audit.chain('default').read(0, 100);
    const check = checkChain();
    const wrong = records.map((record) => check.next(record)).find((fault) => fault !== undefined);
    assert.match(wrong ?? `it ends at ${check.at.seq}, and was at ${head.seq}`, found);
  });

test('with a master key, verification reports records that were rewritten in the database', TIMEOUT, async (t) => {
  const world = await openWorld(t);
  const key = randomBytes(32);
  const auditKey = { key, since: world.store.now() - LONG_AFTER_MS };
  const audit = opened(t, openAuditLog({ data: world.data, store: world.store, log: silentLogger(), auditKey }));
  for (const id of ['a', 'b', 'c', 'd']) {
    await begin(audit, world, id);
    await audit.finish(root, id, { outcome: 'success' });
  }
  const recorded = await audit.chain('default').read(0, 100);
  assert.ok(recorded.records.every(({ mac }) => /^[0-9a-f]{64}$/.test(mac ?? '')) && recorded.forged === undefined);
  const tenantDocuments = world.data.records.for(TENANT);
  /** Rewrites the chain from a record on with correct hashes. */
  async function rewrite(change: (record: AuditRecord) => AuditRecord): Promise<void> {
    let prev = '';
    for (const record of recorded.records) {
      const { hash: _, ...content } = { ...change(record), prev };
      prev = linkHash(content);
      await tenantDocuments.remove({ seq: record.seq });
      await tenantDocuments.insert({ ...content, hash: prev, key: String(record.seq).padStart(16, '0') });
    }
  }
  const verified = async () => {
    const { records, forged } = await audit.chain('default').read(0, 100);
    const check = checkChain();
    return { forged, fault: records.map((record) => check.next(record)).find((fault) => fault !== undefined) };
  };
  await rewrite((record) => (record.seq === 2 ? { ...record, client: 'somebody else' } : record));
  assert.deepEqual(await verified(), { forged: 2, fault: undefined });
  await rewrite((record) => (record.seq > 2 ? { ...record, mac: undefined } : record));
  assert.deepEqual(await verified(), { forged: 3, fault: undefined });
  await rewrite((record) => ({ ...record, mac: undefined }));
  assert.deepEqual(await verified(), { forged: 1, fault: undefined }, 'also if every MAC was removed');
  const other = linkMac(key, 'another', recorded.records[1] ?? assert.fail());
  await rewrite((record) => (record.seq === 2 ? { ...record, mac: other } : record));
  assert.equal((await verified()).forged, 2, 'a record of another tenant is rejected');
  await rewrite((record) => record);
  assert.deepEqual(await verified(), { forged: undefined, fault: undefined });
});

test('the rollout of a first master key raises no alarm, and replicas without it stop writing', TIMEOUT, async (t) => {
  const world = await openWorld(t);
  const dataKeys = (await world.store.open({ dataKeys: dataKeyCollection })).dataKeys.for(TENANT);
  const isEncryptedElsewhere = () => isEncrypted(dataKeys);
  const old = opened(t, openAuditLog({ data: world.data, store: world.store, log: silentLogger(), isEncryptedElsewhere }));
  const write = async (audit: AuditLog, id: string): Promise<void> => {
    await begin(audit, world, id);
    await audit.finish(root, id, { outcome: 'success' });
  };
  await write(old, 'a');
  await begin(old, world, 'b');
  const key = await openDataKey(
    dataKeys,
    { current: createEncryptionKey('kek'), previous: undefined },
    { tenant: 'default', store: world.store },
  );
  const auditKey = await loadAuditKey(dataKeys, key);
  assert.ok(auditKey.since > 0);
  const fresh = opened(t, openAuditLog({ data: world.data, store: world.store, log: silentLogger(), auditKey }));
  await write(fresh, 'c');
  const away = { code: 'UNAVAILABLE', details: { reason: 'AUDIT_UNSEALED' } };
  await assert.rejects(begin(old, world, 'd'), away);
  await assert.rejects(old.finish(root, 'b', { outcome: 'success' }), away);
  await fresh.finish(root, 'b', { outcome: 'success' });
  const { records, forged } = await fresh.chain('default').read(0, 100);
  assert.deepEqual([records.map(({ mac }) => mac !== undefined), forged], [[false, true, true], undefined]);
  await dataKeys.update({ id: 'dek-1' }, { set: { createdAt: world.store.now() + LONG_AFTER_MS } });
  assert.equal((await loadAuditKey(dataKeys, key)).since, 0, 'a start of signing without a valid MAC is ignored');
});

const deaths: readonly [Death | 'before it finishes', 'success' | 'unknown'][] = [
  ['before it finishes', 'unknown'],
  [{ write: 'record', when: 'before' }, 'unknown'],
  [{ write: 'record', when: 'after' }, 'success'],
  [{ write: 'head', when: 'before' }, 'success'],
  [{ write: 'head', when: 'after' }, 'success'],
  [{ write: 'removal', when: 'before' }, 'success'],
  [{ write: 'removal', when: 'after' }, 'success'],
];

for (const [death, outcome] of deaths)
  test(
    `a replica that crashes ${typeof death === 'string' ? death : `${death.when} the write of the ${death.write}`} leaves exactly one record`,
    TIMEOUT,
    async (t) => {
      const world = await openWorld(t);
      const first = typeof death === 'string' ? world.replica() : world.replica(death);
      await begin(first, world, 'a');
      if (typeof death !== 'string') await assert.rejects(first.finish(root, 'a', { outcome: 'success' }));
      const now = world.store.now() + LONG_AFTER_MS;
      const later = { ...world, store: { ...world.store, now: () => now } };
      t.mock.timers.enable({ apis: ['setInterval'] });
      const second = openAuditLog({ data: world.data, store: later.store, log: silentLogger() });
      t.mock.timers.tick(5_000);
      await second[Symbol.asyncDispose]();
      assert.deepEqual(await onRecord(world), [['a', outcome]]);
      assert.equal(await world.data.pendingCalls.for(TENANT).count({}), 0);
      const next = opened(t, openAuditLog({ data: world.data, store: world.store, log: silentLogger() }));
      await begin(next, world, 'b');
      await next.finish(root, 'b', { outcome: 'success' });
      await next.finish(root, 'b', { outcome: 'failure' });
      assert.equal((await next.chain('default').read(0, 1)).head.seq, 2);
      assert.deepEqual(await onRecord(world), [
        ['a', outcome],
        ['b', 'success'],
      ]);
    },
  );

test('the sweep skips calls that are still running', TIMEOUT, async (t) => {
  const world = await openWorld(t);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const audit = openAuditLog({ data: world.data, store: world.store, log: silentLogger() });
  await begin(audit, world, 'a');
  t.mock.timers.tick(5_000);
  await audit[Symbol.asyncDispose]();
  assert.deepEqual(await onRecord(world), []);
  const waiting: PendingCallDocument[] = (await world.data.pendingCalls.for(TENANT).find({})).items;
  assert.equal(waiting.length, 1);
});

test('audit.looked appends reads once, with their count', async (t) => {
  const world = await openWorld(t);
  const [one, other] = [world.replica(), world.replica()];
  const { kind: _, ...call } = act('look_1');
  const looks = [{ ...call, method: 'tokens.list', target: {}, outcome: 'success' as const, count: 12, agoMs: 5_000 }];
  await Promise.all([one.recordReads(root, looks), other.recordReads(root, looks)]);
  await one.recordReads(root, looks);
  const { records } = await createAuditChain(world.data, 'default', { store: world.store }).read(0, 10);
  assert.deepEqual(
    records.map(({ method, kind, client, count, at, since }) => [method, kind, client, count, at - since >= 5_000]),
    [['tokens.list', 'read', 'root', 12, true]],
  );
  assert.equal(checkChain().next(records[0] ?? assert.fail()), undefined);
});

test('reading the audit log is recorded', TIMEOUT, async () => {
  await using app = await start();
  await app.bus.call('tokens.list', {});
  for (let n = 0; n < 2; n++) await app.bus.call('audit.read', { after: 0, limit: 10 });
  const received = [await app.nextEvent('audit:event'), await app.nextEvent('audit:event')];
  assert.deepEqual(
    received.map(({ actionType, classification, metadata }) => [actionType, classification, metadata?.['count']]),
    [
      ['tokens.list', 'read', 1],
      ['audit.read', 'read', 2],
    ],
  );
});
