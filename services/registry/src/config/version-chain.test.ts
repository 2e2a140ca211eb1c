import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ConfigVersionDocument } from '../documents/collections.ts';
import { versionHash } from './version-hash.ts';
import { openWorld, type Death, type Replica, type World } from './version-chain.fixture.ts';

async function readChain({ versions }: Replica): Promise<ConfigVersionDocument[]> {
  const chain = [];
  for await (const version of versions.chain()) chain.push(version);
  return chain;
}

/** Checks that there is one head, that it is published, and that every version leads to the first. */
async function assertOneChain(world: World, replica: Replica): Promise<ConfigVersionDocument[]> {
  const chain = await readChain(replica);
  assert.deepEqual(
    chain.map(({ number }) => number),
    [...chain.keys()].reverse(),
  );
  assert.deepEqual(
    chain.map(({ parent }) => parent),
    [...chain.slice(1).map(({ sha }) => sha), undefined],
  );
  assert.equal((await world.published())?.sha, chain[0]?.sha);
  return chain;
}

test('replicas that start at once agree on the first version', async (t) => {
  const world = await openWorld(t);
  const replicas = await Promise.all([world.replica(), world.replica(), world.replica()]);
  await Promise.all(replicas.map(({ publisher }) => publisher.publish()));
  const heads = await Promise.all(replicas.map(({ versions }) => versions.head()));
  assert.equal(new Set(heads.map(({ sha }) => sha)).size, 1);
});

test('the name of a version is the hash of its content', async (t) => {
  const world = await openWorld(t);
  const replica = await world.replica();
  await replica.set('maxBatchSize', 1);
  const { sha, layer, ...output } = await replica.versions.head();
  assert.match(sha, /^[0-9a-f]{64}$/);
  assert.equal(versionHash(output, { gateway: { maxBatchSize: 1 } }), sha);
  assert.notEqual(versionHash({ ...output, author: 'mallory' }, layer), sha);
  assert.notEqual(versionHash(output, { gateway: { maxBatchSize: 2 } }), sha);
});

test(
  'writers of different keys at several replicas lose nothing: each write is one version of one chain',
  { timeout: 60_000 },
  async (t) => {
    const world = await openWorld(t);
    const replicas = await Promise.all([world.replica(), world.replica(), world.replica()]);
    const writes = replicas.map(async (replica, writer) => {
      for (let n = 1; n <= 100; n++) await replica.set(`key${writer}`, n);
    });
    await Promise.all(writes);
    const [first] = replicas;
    assert.ok(first);
    const chain = await assertOneChain(world, first);
    assert.equal(chain.length, 301);
    assert.deepEqual((await first.versions.head()).layer, { gateway: { key0: 100, key1: 100, key2: 100 } });
    assert.equal(chain.filter(({ message }) => message === 'key1').length, 100);
  },
);

describe('a crash during a write', () => {
  const moments = (['version', 'layer', 'head', 'bucket'] as const).flatMap((write): Death[] => [
    { write, when: 'before' },
    { write, when: 'after' },
  ]);
  for (const death of moments) {
    test(`${death.when} the ${death.write}: one head, published by the remaining replica`, async (t) => {
      const world = await openWorld(t);
      const other = await world.replica();
      await other.set('before', 1);
      const dying = await world.replica(death);
      await assert.rejects(dying.set('during', 1), /this process is gone/);

      await other.publisher.publish();
      const counted = death.write === 'bucket' || (death.write === 'head' && death.when === 'after');
      assert.deepEqual((await world.published())?.layer, { gateway: { before: 1, ...(counted ? { during: 1 } : {}) } });
      const next = await world.replica();
      await next.set('after', 1);
      const chain = await assertOneChain(world, next);
      assert.deepEqual(
        chain.map(({ message }) => message),
        ['after', ...(counted ? ['during'] : []), 'before', 'first version, empty'],
      );
      while (world.events.length < chain.length - 1) await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(
        world.events.map(({ sha }) => sha).toReversed(),
        chain.slice(0, -1).map(({ sha }) => sha),
        'an event for each version that counts',
      );

      const left = counted || (death.write === 'version' && death.when === 'before') ? 0 : 1;
      assert.equal((await next.versions.fold(100)).removed, left, 'versions outside the chain are removed');
      assert.equal((await assertOneChain(world, next)).length, chain.length);
      assert.equal((await next.versions.fold(100)).removed, 0);
    });
  }
});

test('a write with a lost reply is detected and not repeated', async (t) => {
  const world = await openWorld(t);
  const replica = await world.replica({ write: 'head', when: 'unheard' });
  const sha = await replica.set('a', 1);
  assert.deepEqual(
    (await assertOneChain(world, replica)).map((version) => version.sha === sha),
    [true, false],
  );
});

test('rejects a version that was changed in the database', async (t) => {
  const world = await openWorld(t);
  const replica = await world.replica();
  const sha = await replica.set('a', 1);
  await replica.set('a', 2);
  await world.tamper(sha, { gateway: { host: '0.0.0.0' } });
  await assert.rejects((await world.replica()).versions.find(sha), { code: 'DATA_LOSS' });
});

test('publishes a head that a crashed replica moved within seconds', { timeout: 20_000 }, async (t) => {
  const world = await openWorld(t);
  await world.replica();
  const dying = await world.replica({ write: 'bucket', when: 'before' });
  await assert.rejects(dying.set('during', 1), /gone/);
  while ((await world.published())?.layer['gateway'] === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual((await world.published())?.layer, { gateway: { during: 1 } });
});

test('the published version is known at once to its publisher and soon to other replicas, without a read', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] }); // no polling in this test
  const world = await openWorld(t);
  const [one, other] = [await world.replica(), await world.replica()];
  const sha = await one.set('a', 1);
  assert.deepEqual([one.publisher.lastPublished()?.sha, (await one.publisher.published())?.sha], [sha, sha]);
  while (other.publisher.lastPublished()?.sha !== sha) await new Promise(setImmediate);
  assert.deepEqual(other.publisher.lastPublished(), one.publisher.lastPublished());
});

test('fold keeps the newest versions and a valid chain', async (t) => {
  const world = await openWorld(t);
  const replica = await world.replica();
  for (let n = 1; n <= 12; n++) await replica.set(`key${n % 3}`, n);
  const before = await readChain(replica);
  assert.deepEqual(await replica.versions.fold(5, { dryRun: true }), { removed: 8, root: before[4]?.sha });
  assert.equal((await readChain(replica)).length, 13);

  assert.deepEqual(await replica.versions.fold(5), { removed: 8, root: before[4]?.sha });
  assert.deepEqual(
    (await readChain(replica)).map(({ sha }) => sha),
    before.slice(0, 5).map(({ sha }) => sha),
  );
  assert.deepEqual((await replica.versions.find(before[4]?.sha ?? '')).layer, { gateway: { key0: 6, key1: 7, key2: 8 } });
  await assert.rejects(replica.versions.find(before[5]?.sha ?? ''), { code: 'NOT_FOUND' });
  await replica.set('more', 1);
  assert.equal((await readChain(replica)).length, 6);
});

test('finds a version by a unique prefix of at least seven characters', async (t) => {
  const world = await openWorld(t);
  const { versions, set } = await world.replica();
  const sha = await set('a', 1);
  assert.equal((await versions.find(sha.slice(0, 7))).sha, sha);
  for (const name of [sha.slice(0, 6), `${sha}0`, 'g'.repeat(12)]) await assert.rejects(versions.find(name), { code: 'NOT_FOUND' });
});
