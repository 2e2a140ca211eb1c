import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Documents } from '@switchyard/store';
import { principal } from '@switchyard/testkit';
import { isLive, type LiveToken, type TokenDocument } from '../documents/collections.ts';
import { openData, root, secondReplica, start, stored } from '../secrets.fixture.ts';
import { revokeToken, createTombstone } from './revoke-token.ts';

const NOW = 1_000_000;
const last = { code: 'FAILED_PRECONDITION', details: { reason: 'LAST_ADMIN' } };

async function withTokens(...tokens: TokenDocument[]) {
  const app = await start({ env: {} });
  const data = await openData(app);
  const tenantDocuments = data.tokens.for(root);
  for (const token of tokens) await tenantDocuments.insert(token);
  return {
    app,
    tenantDocuments,
    live: async (): Promise<string[]> => (await tenantDocuments.find({ hash: { exists: true } })).items.map(({ id }) => id).sort(),
    read: async (id: string): Promise<LiveToken> => {
      const token = await tenantDocuments.get(id);
      return isLive(token) ? token : assert.fail(`${id} does not live`);
    },
    async [Symbol.asyncDispose]() {
      await data[Symbol.asyncDispose]();
      await app[Symbol.asyncDispose]();
    },
  };
}

test('rejects the revocation of the last full-access token', async () => {
  await using fixture = await withTokens(
    stored('all'),
    stored('admin', { scopes: ['admin', 'rpc'] }),
    stored('own', { scopes: ['*'], sessions: 'own' }),
  );
  await assert.rejects(fixture.app.bus.call('tokens.revoke', { id: 'all' }), last);
  await fixture.app.bus.call('tokens.create', { id: 'second', scopes: ['*'] });
  await fixture.app.bus.call('tokens.revoke', { id: 'all' });
  assert.deepEqual(await fixture.live(), ['admin', 'own', 'second']);
});

test('rejects the revocation of an admin token until another could create it again', async () => {
  await using fixture = await withTokens(stored('both', { scopes: ['admin', 'rpc'] }), stored('admin', { scopes: ['admin'] }));
  await assert.rejects(fixture.app.bus.call('tokens.revoke', { id: 'both' }), last);
  await fixture.app.bus.call('tokens.revoke', { id: 'admin' });
  assert.deepEqual(await fixture.live(), ['both']);
});

test('a declared admin token allows the revocation of another', async () => {
  await using app = await start();
  await app.bus.call('tokens.create', { id: 'minted', scopes: ['*'] });
  await app.bus.call('tokens.revoke', { id: 'minted' });
});

test('one of two admins that revoke each other through two replicas stays', async () => {
  await using fixture = await withTokens(stored('a'), stored('b'));
  await using _second = await secondReplica(fixture.app);
  for (let round = 0; round < 20; round += 1) {
    const calls = ['a', 'b'].map((id) =>
      fixture.app.bus.as(principal({ client: id })).call('tokens.revoke', { id: id === 'a' ? 'b' : 'a' }),
    );
    const outcomes = await Promise.allSettled(calls);
    const remainingItems = await fixture.live();
    assert.ok(remainingItems.length >= 1, `round ${round} left nobody`);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.equal((outcome.reason as { code: string }).code, 'FAILED_PRECONDITION');
    for (const id of ['a', 'b']) if (!remainingItems.includes(id)) await fixture.app.bus.call('tokens.create', { id, scopes: ['*'] });
  }
});

test('one of several admins that revoke each other in a ring stays', async () => {
  const ids = ['a', 'b', 'c', 'd', 'e'];
  await using fixture = await withTokens(...ids.map((id) => stored(id)));
  await Promise.allSettled(ids.map((id) => fixture.app.bus.call('tokens.revoke', { id })));
  assert.ok((await fixture.live()).length >= 1);
});

/** The same documents with a hook before the nth write. */
function interrupted(tenantDocuments: Documents<TokenDocument>, nth: number, happens: () => Promise<unknown>): Documents<TokenDocument> {
  let writes = 0;
  const update: Documents<TokenDocument>['update'] = async (filter, change) => {
    writes += 1;
    if (writes === nth) await happens();
    return tenantDocuments.update(filter, change);
  };
  return { ...tenantDocuments, update };
}

for (const nth of [1, 2, 3]) {
  test(`a revocation that is overtaken before write ${nth} does not revoke the last admin`, async () => {
    await using fixture = await withTokens(stored('a'), stored('b'));
    const overtaken = interrupted(fixture.tenantDocuments, nth, async () => {
      await revokeToken(fixture.tenantDocuments, await fixture.read('b'), { now: NOW }).catch(() => undefined);
    });
    await revokeToken(overtaken, await fixture.read('a'), { now: NOW }).catch(() => undefined);
    assert.equal((await fixture.live()).length, 1);
  });
}

test('a successor that is revoked or marked meanwhile does not count', async () => {
  for (const change of [createTombstone(NOW), { set: { revocation: 'leave_b', revocationStartedAt: NOW } }]) {
    await using fixture = await withTokens(stored('a'), stored('b'));
    const late = interrupted(fixture.tenantDocuments, 2, () => fixture.tenantDocuments.update({ id: 'b' }, change));
    await assert.rejects(revokeToken(late, await fixture.read('a'), { now: NOW }), last);
    assert.equal((await fixture.read('a')).revocation, undefined);
  }
});

test('a mark left by a crashed revocation expires', async () => {
  await using fixture = await withTokens(stored('a', { revocation: 'leave_x', revocationStartedAt: NOW - 1_000 }), stored('b'));
  const b = await fixture.read('b');
  await assert.rejects(revokeToken(fixture.tenantDocuments, b, { now: NOW }), last);
  assert.equal(await revokeToken(fixture.tenantDocuments, b, { now: NOW + 10_000 }), true);
  assert.deepEqual(await fixture.live(), ['a']);
});

test('a delayed revocation fails after its mark was removed', async () => {
  await using fixture = await withTokens(stored('a'), stored('b'));
  const late = interrupted(fixture.tenantDocuments, 3, async () => {
    assert.equal(await revokeToken(fixture.tenantDocuments, await fixture.read('b'), { now: NOW + 10_000 }), true);
  });
  assert.equal(await revokeToken(late, await fixture.read('a'), { now: NOW }), false);
  assert.deepEqual(await fixture.live(), ['a']);
});
