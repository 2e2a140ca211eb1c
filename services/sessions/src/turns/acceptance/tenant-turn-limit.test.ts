import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FullFor, type ServiceError } from '@switchyard/contracts';
import { systemClock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import { principal } from '@switchyard/testkit';
import type { TurnDocument } from '../../model/turn-document.ts';
import { testSessions, getTurnId } from '../../sessions.fixture.ts';
import { createTenantTurnLimit } from './tenant-turn-limit.ts';

const ONE_SLOT = { agents: { default: { model: 'dev/scripted', concurrency: { maxConcurrentRuns: 1 } } } };
const wait = JSON.stringify([{ wait: 60_000 }, { text: 'late' }]);

test('limits the waiting turns of one tenant and not those of another', async () => {
  const settings = { queue: { maxWaiting: 3 }, daemon: { shutdownTimeoutMs: 100 } };
  await using app = await testSessions({ ...ONE_SLOT, settings, as: principal({ client: 'a', scopes: ['*'] }) });
  const start = (at: number) =>
    app.bus.call('turns.start', { turnId: getTurnId(`t${at}x`), message: wait, session: { userId: `u${at}`, channelId: 'c' } });
  for (const at of [0, 1, 2, 3]) await start(at);
  await assert.rejects(start(4), ({ code, details: { reason, retryAfterMs } }: ServiceError) => {
    assert.deepEqual([code, reason, retryAfterMs], ['RESOURCE_EXHAUSTED', 'TENANT_QUEUE_FULL', 1_000]);
    return true;
  });
});

test('counts a turn that is being written, and frees its place if it is not written', async () => {
  await using app = await testSessions({ ...ONE_SLOT, settings: { queue: { maxWaiting: 3 }, daemon: { shutdownTimeoutMs: 100 } } });
  const start = (at: number) =>
    app.bus.call('turns.start', { turnId: getTurnId(`t${at}x`), message: wait, session: { userId: `u${at}`, channelId: 'c' } });
  const sent = await Promise.allSettled(Array.from({ length: 12 }, (_, at) => start(at)));
  assert.equal(sent.filter(({ status }) => status === 'fulfilled').length, 4, 'one runs and three wait');
});

test('rejects a tenant at the limit without a count until the next count is due', async () => {
  let [now, counts, waiting] = [0, 0, 0];
  const count = async (): Promise<number> => {
    counts += 1;
    return waiting;
  };
  const bound = boundOf20(count, () => now);
  const refused = { code: 'RESOURCE_EXHAUSTED', details: { reason: 'TENANT_QUEUE_FULL', retryAfterMs: 1_000 } };
  const known = (tenant: string): number | undefined => bound.fullFor(tenant)?.ms;
  assert.equal(known('a'), undefined);
  while ((waiting += 1) <= 20) (await bound.admit('a'))[Symbol.dispose]();
  assert.equal(known('a'), undefined);
  await assert.rejects(bound.admit('a'), refused);
  assert.equal(counts, 1);
  assert.deepEqual([bound.fullFor('a'), known('b')], [{ ms: 2, tries: { calls: 2, everyMs: 2 } }, undefined]);
  now += 1;
  assert.equal(known('a'), 1);
  await assert.rejects(bound.admit('a'), refused);
  assert.equal(counts, 1);
  now += 1;
  assert.equal(known('a'), undefined);
  waiting = 19;
  (await bound.admit('a'))[Symbol.dispose]();
  assert.equal(counts, 2);
  now += 2;
  waiting = 10;
  (await bound.admit('a'))[Symbol.dispose]();
  assert.deepEqual([counts, known('a')], [3, undefined], 'who has room again is not full, however lately it was counted');
});

test('concurrent callers wait for a running count', async () => {
  const counted = Promise.withResolvers<number>();
  let counts = 0;
  const bound = boundOf20(() => {
    counts += 1;
    return counted.promise;
  });
  for (let at = 0; at < 20; at += 1) (await bound.admit('a'))[Symbol.dispose]();
  const sent = Promise.allSettled(Array.from({ length: 5 }, () => bound.admit('a')));
  assert.equal(bound.fullFor('a'), undefined, 'nobody knows');
  counted.resolve(17);
  assert.deepEqual(
    (await sent).map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
  );
  assert.equal(counts, 1);
});

test('a failed count is returned to all waiting callers and repeated', async () => {
  let [now, counts] = [0, 0];
  const count = async (): Promise<number> => {
    counts += 1;
    if (counts === 1) throw new Error('no database');
    return 0;
  };
  const bound = boundOf20(count, () => now);
  for (let at = 0; at < 20; at += 1) (await bound.admit('a'))[Symbol.dispose]();
  const sent = await Promise.allSettled([bound.admit('a'), bound.admit('a')]);
  assert.deepEqual([sent.map(({ status }) => status), counts], [['rejected', 'rejected'], 1]);
  now += 2;
  (await bound.admit('a'))[Symbol.dispose]();
  assert.equal(counts, 2);
});

function boundOf20(count: () => Promise<number>, now = systemClock.now) {
  const turns = { system: () => ({ count }) } as unknown as Collection<TurnDocument>;
  return createTenantTurnLimit({ turns, clock: { ...systemClock, now }, maxWaiting: () => 20 });
}

test('the cached limit does not reject callers of an agent with free slots, or requests with an idempotency key', async () => {
  const { agents } = ONE_SLOT;
  const settings = { queue: { maxWaiting: 1_000 }, daemon: { shutdownTimeoutMs: 100 } };
  await using app = await testSessions({ agents: { ...agents, free: { model: 'dev/scripted' } }, settings });
  const message = (text: string): string => JSON.stringify([{ text }]);
  const start = (at: number, more: object = {}) =>
    app.bus.call('turns.start', { turnId: getTurnId(`m${at}x`), message: wait, session: { userId: `u${at}`, channelId: 'c' }, ...more });
  await start(0, { idempotencyKey: 'first' });
  await Promise.all(Array.from({ length: 1_000 }, (_, at) => start(at + 1)));
  const refused = { code: 'RESOURCE_EXHAUSTED', message: /^The limit of 1000 waiting turns of this tenant is reached/ };
  // The one after whom it is counted, and the ones until the next count.
  const saysForHowLong = ({ details: { fullFor, ...details } }: ServiceError) => {
    assert.deepEqual(details, { reason: 'TENANT_QUEUE_FULL', retryAfterMs: 1_000 });
    const { ms, ...whose } = FullFor.parse(fullFor);
    assert.deepEqual(whose, { agentId: 'default', standard: true, tries: { calls: 100, everyMs: 100 } });
    return ms <= 100;
  };
  await assert.rejects(start(2_000), saysForHowLong);
  await assert.rejects(start(2_001), saysForHowLong);
  const again = await start(3_000, { idempotencyKey: 'first', session: { userId: 'u0', channelId: 'c' } });
  assert.equal(again.turnId, getTurnId('m0x'));
  const free = { agentId: 'free', message: message('at once'), sessionKey: { channelId: 'free' } };
  assert.equal((await app.bus.call('agent.execute', free)).response, 'at once');
  await assert.rejects(start(4_000), refused);
});

test('with lanes the limit is not cached, because another lane may have room', async () => {
  const lanes = {
    priorityEnabled: true,
    priorityLanes: [{ name: 'only', concurrency: 1, priority: 0 }],
    laneAssignment: { defaultLane: 'only' },
  };
  await using app = await testSessions({
    ...ONE_SLOT,
    settings: { queue: { maxWaiting: 400, ...lanes }, daemon: { shutdownTimeoutMs: 100 } },
  });
  const start = (at: number) =>
    app.bus.call('turns.start', { turnId: getTurnId(`l${at}x`), message: wait, session: { userId: `u${at}`, channelId: 'c' } });
  await Promise.all(Array.from({ length: 401 }, (_, at) => start(at)));
  for (const at of [500, 501]) await assert.rejects(start(at), { details: { reason: 'TENANT_QUEUE_FULL', retryAfterMs: 1_000 } });
});
