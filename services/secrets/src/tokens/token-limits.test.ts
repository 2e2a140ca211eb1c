import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal } from '@switchyard/testkit';
import { ENV, collectingLog, openData, projected, root, start, stored } from '../secrets.fixture.ts';
import { expireTokens } from './expire-tokens.ts';
import { openTokenProjector } from './token-projector.ts';

const HOUR_MS = 3_600_000;
const FAR = '2100-01-01T00:00:00.000Z';
const denied = { code: 'PERMISSION_DENIED' };
const wrong = { code: 'INVALID_ARGUMENT' };
const last = { code: 'FAILED_PRECONDITION', details: { reason: 'LAST_ADMIN' } };

async function listed(app: Awaited<ReturnType<typeof start>>, id: string) {
  return (await app.bus.call('tokens.list', {})).tokens.find((token) => token.id === id);
}

test('expiresAt and ttlMs are returned, listed, projected and kept by a rotation', async () => {
  await using app = await start();
  const before = Date.now();
  const timed = await app.bus.call('tokens.create', { id: 'timed', scopes: ['rpc'], ttlMs: HOUR_MS });
  const until = await app.bus.call('tokens.create', { id: 'until', scopes: ['rpc'], expiresAt: '2100-01-01T01:00:00+01:00' });
  const end = Date.parse(timed.expiresAt ?? '');
  assert.ok(end >= before + HOUR_MS && end <= Date.now() + HOUR_MS, timed.expiresAt);
  assert.equal(until.expiresAt, FAR);
  await app.bus.call('tokens.rotate', { id: 'until' });
  assert.equal((await listed(app, 'until'))?.expiresAt, FAR);
  assert.equal((await projected(app)).get('default.until')?.expiresAt, Date.parse(FAR));
});

test('rejects an expiry that is past, malformed or given twice, and names the field', async () => {
  await using app = await start();
  const make = (end: object) => app.bus.call('tokens.create', { id: 'x', scopes: ['rpc'], ...end });
  await assert.rejects(make({ expiresAt: '2001-01-01T00:00:00Z' }), {
    ...wrong,
    message: /expiresAt: expected an instant in the future/,
  });
  await assert.rejects(make({ expiresAt: 'tomorrow' }), { ...wrong, message: /expiresAt/ });
  await assert.rejects(make({ expiresAt: FAR, ttlMs: 1 }), { ...wrong, message: /ttlMs: expected nothing beside expiresAt/ });
});

test('an expiring token cannot create or rotate a token that expires later', async () => {
  await using app = await start();
  await app.bus.call('tokens.create', { id: 'ends', scopes: ['*'], expiresAt: FAR });
  await app.bus.call('tokens.create', { id: 'stays', scopes: ['rpc'] });
  const ends = app.bus.as(principal({ client: 'ends', scopes: ['*'] }));
  await assert.rejects(ends.call('tokens.create', { id: 'up', scopes: ['rpc'] }), { ...denied, message: /your token expires at 2100/ });
  await assert.rejects(ends.call('tokens.create', { id: 'up', scopes: ['rpc'], expiresAt: '2100-01-01T00:00:00.001Z' }), denied);
  await assert.rejects(ends.call('tokens.rotate', { id: 'stays' }), denied);
  await ends.call('tokens.create', { id: 'peer', scopes: ['rpc'], expiresAt: FAR });
  await ends.call('tokens.rotate', { id: 'peer' });
  await ends.call('tokens.revoke', { id: 'stays' });
});

test('a token with an expiry, budgets or agents does not count as another admin', async () => {
  for (const limit of [{ expiresAt: Date.parse(FAR) }, { expiresAt: 1 }, { budgets: { perHour: 1 } }, { agents: ['oslo'] }]) {
    await using app = await start({ env: {} });
    await using data = await openData(app);
    for (const token of [stored('all'), stored('limited', limit)]) await data.tokens.for(root).insert(token);
    await assert.rejects(app.bus.call('tokens.revoke', { id: 'all' }), last, JSON.stringify(limit));
  }
});

test('an expired token is not listed, and the sweep frees its id for another client', async () => {
  const logs = collectingLog();
  await using app = await start({ log: logs.log });
  await using data = await openData(app);
  await data.tokens.for(root).insert(stored('past', { scopes: ['rpc'], expiresAt: 1 }));
  assert.equal(await listed(app, 'past'), undefined);
  await assert.rejects(app.bus.call('tokens.rotate', { id: 'past' }), { code: 'NOT_FOUND' });
  const store = { now: () => Date.now() };
  using projector = await openTokenProjector(app.host.bus, data.tokens);
  await expireTokens({ ...data, store, projector, tenantId: 'default', log: logs.log });
  assert.ok(logs.lines().some(({ msg, tokenId }) => msg === 'a token expired' && tokenId === 'past'));
  await app.bus.call('tokens.create', { id: 'past', scopes: ['rpc'] });
  const again = (await projected(app)).get('default.past');
  assert.deepEqual([again?.client, again?.expiresAt], ['past=2', undefined]);
});

test('agents are projected, rejected for admin scopes, and a token with agents cannot create tokens', async () => {
  await using app = await start();
  await app.bus.call('tokens.create', { id: 'held', scopes: ['rpc'], agents: ['oslo'] });
  assert.deepEqual((await listed(app, 'held'))?.agents, ['oslo']);
  assert.deepEqual((await projected(app)).get('default.held')?.agents, ['oslo']);
  for (const scopes of [['*'], ['admin', 'rpc']] as const) {
    const requests = app.bus.call('tokens.create', { id: 'x', scopes: [...scopes], agents: ['oslo'] });
    await assert.rejects(requests, { ...wrong, message: /agents: expected no scope admin or \*/ });
  }
  const held = app.bus.as({ ...root, client: 'odd', agents: ['oslo'] });
  await assert.rejects(held.call('tokens.create', { id: 'x', scopes: ['rpc'] }), denied);
  await app.bus.call('tokens.revoke', { id: 'held' });
  await app.bus.call('tokens.create', { id: 'held', scopes: ['rpc'] });
  assert.equal((await projected(app)).get('default.held')?.agents, undefined, 'a token under the reused id does not inherit them');
});

test('only the operator manages tokens of another tenant, including its last one', async () => {
  await using app = await start();
  const made = await app.bus.call('tokens.create', { id: 'boss', scopes: ['*'], tenant: 'acme' });
  assert.equal(made.tenant, 'acme');
  assert.equal((await projected(app)).get('acme.boss')?.tenant, 'acme');
  const boss = app.bus.as(principal({ tenant: 'acme', client: 'boss', scopes: ['*'] }));
  const deputy = app.bus.as(principal({ client: 'deputy', scopes: ['admin'] }));
  for (const [caller, tenant] of [
    [boss, 'default'],
    [deputy, 'acme'],
  ] as const) {
    await assert.rejects(caller.call('tokens.create', { id: 'up', scopes: ['admin'], tenant }), denied);
    await assert.rejects(caller.call('tokens.list', { tenant }), denied);
    await assert.rejects(caller.call('tokens.rotate', { id: 'boss', tenant }), denied);
    await assert.rejects(caller.call('tokens.revoke', { id: 'boss', tenant }), denied);
  }
  await assert.rejects(boss.call('tokens.revoke', { id: 'boss' }), last);
  assert.deepEqual(
    (await boss.call('tokens.list', {})).tokens.map(({ id }) => id),
    ['boss'],
  );
  assert.deepEqual(
    (await app.bus.call('tokens.list', { tenant: 'acme' })).tokens.map(({ id }) => id),
    ['boss'],
  );
  await app.bus.call('tokens.rotate', { id: 'boss', tenant: 'acme' });
  await app.bus.call('tokens.revoke', { id: 'boss', tenant: 'acme' });
  assert.equal((await projected(app)).has('acme.boss'), false);
});

test('declared tokens can have budgets, agents and an expiry', async () => {
  const limits = { budgets: { perDay: 10 }, agents: ['oslo'] };
  const token = { id: 'ops', secret: 'o'.repeat(40), scopes: ['rpc' as const], ...limits, expiresAt: FAR };
  await using app = await start({ env: { SWITCHYARD_TOKEN: ENV }, settings: { gateway: { tokens: [token] } } });
  const { budgets, agents, expiresAt } = (await projected(app)).get('default.ops') ?? assert.fail('it is not there');
  assert.deepEqual({ budgets, agents, expiresAt }, { ...limits, expiresAt: Date.parse(FAR) });
});
