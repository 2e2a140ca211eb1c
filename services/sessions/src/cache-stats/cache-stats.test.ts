import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '@switchyard/service-kit';
import { principal, startUpstream, type Upstream } from '@switchyard/testkit';
import { sessions } from '../service.ts';
import { testSessions, getTurnId } from '../sessions.fixture.ts';

const models = [{ id: 'm', cost: { input: 10, output: 1, cacheRead: 1, cacheWrite: 12 } }];
const settings = ({ url }: Upstream) => ({
  providers: { entries: { house: { type: 'openai-compatible' as const, baseUrl: url, models } } },
});
const AGENTS = { default: { provider: 'house', model: 'm' }, oslo: { provider: 'house', model: 'm' } };
const text = (usage: { prompt: number; completion: number; cached?: number }) => ({ kind: 'text' as const, text: 'yes', usage });

test('counts prompt cache hits and savings per agent on every entry point', async () => {
  await using upstream = await startUpstream(
    text({ prompt: 1_000, completion: 0 }),
    text({ prompt: 1_000, completion: 0, cached: 800 }),
    text({ prompt: 1_000, completion: 0, cached: 500 }),
  );
  await using app = await testSessions({ settings: settings(upstream), agents: AGENTS });
  await app.bus.call('agent.execute', { message: 'one' });
  await app.bus.call('agent.execute', { message: 'two' });
  await app.bus.call('turns.complete', { turnId: getTurnId('stateless'), model: 'oslo', message: 'three' });

  const { providers, totalCacheSaved, ...all } = await app.bus.call('agent.cacheStats', {});
  assert.deepEqual(all, { cacheHits: 2, cacheMisses: 1, hitRate: 2 / 3, missRate: 1 / 3, totalTokensCached: 1_300, sizes: {} });
  assert.ok(Math.abs(totalCacheSaved - 1_300 * 9e-6) < 1e-9, `${totalCacheSaved}`);
  const [row, ...others] = providers;
  assert.deepEqual([row?.provider, row?.model, row?.callCount, others], ['house', 'm', 3, []]);
  assert.ok(Math.abs((row?.cacheHitRate ?? 0) - 0.0117 / 0.03) < 1e-9, 'saved of what it would have cost');
  const oslo = await app.bus.call('agent.cacheStats', { agentId: 'oslo' });
  assert.deepEqual([oslo.agentId, oslo.cacheHits, oslo.cacheMisses, oslo.totalTokensCached], ['oslo', 1, 0, 500]);
  await assert.rejects(app.bus.call('agent.cacheStats', { agentId: 'nobody' }), { code: 'NOT_FOUND' });
});

test('publishes cached tokens and savings with the usage of a turn', async () => {
  await using upstream = await startUpstream(text({ prompt: 1_000, completion: 100, cached: 800 }));
  await using app = await testSessions({ settings: settings(upstream), agents: AGENTS });
  const notification = app.nextEvent('observability:token_usage');
  await app.bus.call('agent.execute', { message: 'one' });
  const { tokens, cost, cacheReadTokens, cacheWriteTokens, savedVsUncached, cacheEligible } = await notification;
  assert.deepEqual(tokens, { prompt: 1_000, completion: 100, total: 1_100 });
  assert.deepEqual([cacheReadTokens, cacheWriteTokens, cacheEligible], [800, 0, true]);
  const micro = (usd: number): number => Math.round(usd * 1e6);
  assert.deepEqual(
    [cost.input, cost.output, cost.cacheRead, cost.cacheWrite, cost.total, savedVsUncached].map(micro),
    [2_000, 100, 800, 0, 2_900, 7_200],
  );
});

test('adds the counts of all replicas, separately per tenant, and keeps them after a restart', async () => {
  await using upstream = await startUpstream(text({ prompt: 100, completion: 1, cached: 50 }));
  await using app = await testSessions({ settings: settings(upstream), agents: AGENTS });
  {
    await using _second = await startService(sessions, app.host);
    await Promise.all(
      Array.from({ length: 12 }, (_, n) => app.bus.call('agent.execute', { message: `${n}`, sessionKey: { peerId: `p${n}` } })),
    );
  }
  const { cacheHits, totalTokensCached } = await app.bus.call('agent.cacheStats', {});
  assert.deepEqual([cacheHits, totalTokensCached], [12, 600]);
  const elsewhere = app.bus.as(principal({ tenant: 'acme', scopes: ['*'] }));
  const none = await elsewhere.call('agent.cacheStats', {});
  assert.deepEqual([none.cacheHits, none.cacheMisses, none.hitRate, none.providers], [0, 0, 0, []]);
});

test('does not count development models', async () => {
  await using app = await testSessions();
  await app.bus.call('agent.execute', { message: 'hello' });
  assert.equal((await app.bus.call('agent.cacheStats', {})).cacheMisses, 0);
});
