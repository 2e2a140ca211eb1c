import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Input } from '@switchyard/contracts';
import { principal } from '@switchyard/testkit';
import { openData, root, start, stored } from '../secrets.fixture.ts';

type Stored = Input<'tokens.standing'>['principals'][number];

async function startWith(...tokens: Parameters<typeof stored>[]) {
  const app = await start();
  await using data = await openData(app);
  for (const [id, fields] of tokens) await data.tokens.for(root).insert(stored(id, fields));
  const caller = (await app.host.connect('scheduler')).as(principal({ client: 'service:scheduler', scopes: ['*'] }));
  const getStandings = async (...principals: Stored[]) => (await caller.call('tokens.standing', { principals })).standings;
  return { app, getStandings, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

test('a stored principal is current until its token is revoked, and a reused id is another client', async () => {
  await using fixture = await startWith();
  const { app, getStandings } = fixture;
  await app.bus.call('tokens.create', { id: 'alice', scopes: ['rpc'] });
  const alice = { client: 'alice', scopes: ['rpc' as const] };
  const unknown = { client: 'nobody', scopes: [] };
  assert.deepEqual(await getStandings(alice, unknown, alice), [{ state: 'current' }, { state: 'gone' }, { state: 'current' }]);
  await app.bus.call('tokens.revoke', { id: 'alice' });
  await app.bus.call('tokens.create', { id: 'alice', scopes: ['*'] });
  assert.deepEqual(await getStandings(alice, { ...alice, client: 'alice=2' }), [{ state: 'gone' }, { state: 'current' }]);
});

test('an expired token is gone', async () => {
  await using fixture = await startWith(['old', { expiresAt: 1 }]);
  assert.deepEqual(await fixture.getStandings({ client: 'old', scopes: [] }), [{ state: 'gone' }]);
});

test('names the rights that a token no longer has', async () => {
  await using fixture = await startWith(
    ['narrow', { scopes: ['rpc'], sessions: 'own', agents: ['a', 'b'], budgets: { perDay: 100, perHourUsd: 1 } }],
    ['wide', { scopes: ['*'] }],
  );
  const limited: Stored = { client: 'narrow', scopes: ['rpc'], sessions: 'own', agents: ['b'], budgets: { perDay: 100, perHourUsd: 0.5 } };
  assert.deepEqual(
    await fixture.getStandings(
      limited,
      { ...limited, client: 'wide' },
      { client: 'narrow', scopes: ['rpc', 'admin'] },
      { ...limited, agents: ['b', 'c'] },
      { ...limited, budgets: { perDay: 200 } },
    ),
    [
      { state: 'current' },
      { state: 'current' },
      { state: 'narrowed', rights: ['scopes', 'sessions', 'agents', 'budgets'] },
      { state: 'narrowed', rights: ['agents'] },
      { state: 'narrowed', rights: ['budgets'] },
    ],
  );
});

test('reads tokens of the caller’s tenant only, and answers only services that order turns', async () => {
  await using fixture = await startWith(['alice']);
  const bus = await fixture.app.host.connect('scheduler');
  const foreign = bus.as({ ...root, tenant: 'other' });
  const principals = [{ client: 'alice', scopes: [] }];
  assert.deepEqual(await foreign.call('tokens.standing', { principals }), { standings: [{ state: 'gone' }] });
  await assert.rejects(fixture.app.bus.call('tokens.standing', { principals }), { code: 'PERMISSION_DENIED' });
});
