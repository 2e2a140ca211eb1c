import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal } from '@switchyard/testkit';
import { testSessions, turnIdOf } from '../sessions.fixture.ts';

const ONE_SLOT = { agents: { default: { model: 'dev/scripted', concurrency: { maxConcurrentRuns: 1 } } } };
const wait = JSON.stringify([{ wait: 60_000 }, { text: 'late' }]);

test('no more turns of one tenant wait than may, and another tenant’s do', async () => {
  const settings = { queue: { maxWaiting: 3 }, daemon: { shutdownTimeoutMs: 100 } };
  await using app = await testSessions({ ...ONE_SLOT, settings, as: principal({ client: 'a', scopes: ['*'] }) });
  const start = (at: number) =>
    app.bus.call('turns.start', { turnId: turnIdOf(`t${at}x`), message: wait, session: { userId: `u${at}`, channelId: 'c' } });
  for (const at of [0, 1, 2, 3]) await start(at);
  await assert.rejects(start(4), { code: 'RESOURCE_EXHAUSTED', details: { reason: 'TENANT_QUEUE_FULL', retryAfterMs: 1_000 } });
});

test('a turn that is being written counts, and makes room when it is not written', async () => {
  await using app = await testSessions({ ...ONE_SLOT, settings: { queue: { maxWaiting: 3 }, daemon: { shutdownTimeoutMs: 100 } } });
  const start = (at: number) =>
    app.bus.call('turns.start', { turnId: turnIdOf(`t${at}x`), message: wait, session: { userId: `u${at}`, channelId: 'c' } });
  const told = await Promise.allSettled(Array.from({ length: 12 }, (_, at) => start(at)));
  assert.equal(told.filter(({ status }) => status === 'fulfilled').length, 4, 'one runs and three wait');
});
