import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream } from '@switchyard/testkit';
import { LOCAL, script, SCRIPTED } from './incidents/incident.ts';
import { explainTurn, startObserved } from './observed-sessions.ts';

test('a good turn has no root cause, and the same session gives the same bytes', async () => {
  await using app = await startObserved({ agent: SCRIPTED });
  const report = await explainTurn(app, script({ tool: { name: 'session_status', input: {} } }, { text: 'done' }));
  assert.equal(report.likelyRootCause, null);
  assert.deepEqual(report.outcome, { endReason: 'completed', degraded: false, severity: 'ok' });
  assert.equal(report.waterfall?.length, 2);
  assert.ok(report.waterfall?.[1]?.startMs !== undefined);
  assert.ok((report.waterfall?.[1]?.budget?.leftTokens ?? 0) > 0);
  const { sessionKey } = report;
  assert.ok(sessionKey);
  const again = await app.bus.call('obs.explain', { sessionKey, depth: 'full' });
  assert.equal(JSON.stringify(again), JSON.stringify(report));
});

test('the waterfall of a turn names the fallback model that answered, its tokens and its cost', async () => {
  await using failing = await startUpstream({ kind: 'status', status: 503 });
  await using spare = await startUpstream({ kind: 'text', text: 'yes', usage: { prompt: 1_000, completion: 100 } });
  const models = [{ id: 'm', cost: { input: 2, output: 10 } }];
  const [first, second] = [failing.url, spare.url].map((baseUrl) => ({
    type: 'openai-compatible' as const,
    baseUrl,
    maxRetries: 0,
    models,
  }));
  assert.ok(first && second);
  const agent = { ...LOCAL, modelFailover: { fallbackModels: [{ provider: 'spare', modelId: 'm' }] } };
  await using app = await startObserved({ agent, settings: { providers: { entries: { local: first, spare: second } } } });
  const { waterfall } = await explainTurn(app, 'hello');
  assert.deepEqual(
    waterfall?.map(({ step, model, fallback, inputTokens, outputTokens, costUsd, tools }) => {
      return { step, model, fallback, inputTokens, outputTokens, costUsd, tools };
    }),
    [{ step: 1, model: 'spare/m', fallback: true, inputTokens: 1_000, outputTokens: 100, costUsd: 0.003, tools: [] }],
  );
});
