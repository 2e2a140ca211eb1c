import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal, startUpstream, type TestService, type Upstream } from '@switchyard/testkit';
import { getTurnId, testSessions } from '../sessions.fixture.ts';

/** Starts sessions with one model that a test controls. */
async function startWithUpstream({ url }: Upstream, config: object = {}): Promise<TestService> {
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: url, models: [{ id: 'm' }] } };
  const agents = { default: { provider: 'local', model: 'm', sdkRetry: { baseDelayMs: 10 }, ...config } };
  return testSessions({ settings: { providers: { entries } }, agents, as: principal({ scopes: ['*'] }) });
}

const complete = (app: TestService, name: string, options: object = {}) =>
  app.bus.call('turns.complete', { turnId: getTurnId(name), model: 'default', message: 'hello' }, options);

/** Returns the only record of the next event. */
async function nextRecord(app: TestService) {
  const { records } = await app.nextEvent('usage:recorded');
  const [record] = records;
  assert.ok(record && records.length === 1, `${records.length} records`);
  return record;
}

test('records a stateless turn once, with the usage that the provider reported', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'hi', usage: { prompt: 11, completion: 5 } });
  await using app = await startWithUpstream(upstream);
  await complete(app, 'a');
  const { purpose, agentId, client, model, turnId, outcome, usage } = await nextRecord(app);
  assert.deepEqual(
    [purpose, agentId, client, model, turnId, outcome],
    ['completion', 'default', 'test', 'local/m', getTurnId('a'), 'answered'],
  );
  assert.deepEqual([usage.calls, usage.unknownCalls, usage.input, usage.output], [1, 0, 11, 5]);
  for await (const _frame of app.bus.stream('turns.run', { turnId: getTurnId('b'), model: 'default', message: 'hello' })) continue;
  assert.equal((await nextRecord(app)).turnId, getTurnId('b'), 'and none in between');
});

test('records failed and cancelled calls as unknown', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 400 });
  await using app = await startWithUpstream(upstream);
  await assert.rejects(complete(app, 'a'));
  const failed = await nextRecord(app);
  assert.deepEqual([failed.outcome, failed.usage.calls, failed.usage.unknownCalls], ['failed', 1, 1]);

  upstream.respond({ kind: 'stall', text: 'never', afterTokens: 0 });
  const client = new AbortController();
  const left = assert.rejects(complete(app, 'b', { signal: client.signal }));
  while (upstream.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
  client.abort();
  await left;
  const cancelled = await nextRecord(app);
  assert.deepEqual([cancelled.turnId, cancelled.outcome, cancelled.usage.unknownCalls], [getTurnId('b'), 'cancelled', 1]);
});

test('records summaries', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'They spoke of harbours.', usage: { prompt: 30, completion: 6 } });
  await using app = await startWithUpstream(upstream, { contextEngine: { freshTailTurns: 1 } });
  for (let n = 0; n < 6; n += 1) await app.bus.call('agent.execute', { message: `${n} ${'The harbour is wide. '.repeat(50)}` });
  await app.bus.call('session.compact', { key: 'default:test:gateway' });
  const { purpose, outcome, usage, turnId } = await nextRecord(app);
  assert.deepEqual([purpose, outcome, turnId], ['summary', 'answered', undefined]);
  assert.ok(usage.calls >= 1 && usage.input >= 30 && usage.output >= 6, JSON.stringify(usage));
});
