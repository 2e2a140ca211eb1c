import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { CIRCUIT_OPEN, type ModelEnd, type ModelRequest, type OnDelta } from '@switchyard/models';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { testSessions, getTurnId } from '../sessions.fixture.ts';
import { runAgentLoop } from '../agent-loop/agent-loop.ts';

const MODEL = { provider: 'first', model: 'm1', sdkRetry: { enabled: false } };
const entry = ({ url }: Upstream) => ({ type: 'openai-compatible', baseUrl: url });

test('a turn whose model fails is answered by the next model of the chain on every entry point, and its usage names that model', async () => {
  await using first = await startUpstream({ kind: 'status', status: 500 });
  await using second = await startUpstream({ kind: 'text', text: 'yes' });
  await using app = await testSessions({
    settings: { providers: { entries: { first: entry(first), second: entry(second) } } },
    agents: { default: { ...MODEL, modelFailover: { fallbackModels: [{ provider: 'second', modelId: 'm2' }] } } },
  });
  assert.equal((await app.bus.call('agent.execute', { message: 'hello' })).response, 'yes');
  const { fromProvider, toProvider } = await app.nextEvent('model:fallback_attempt');
  assert.deepEqual([fromProvider, toProvider], ['first', 'second']);
  const { provider, model } = await app.nextEvent('observability:token_usage');
  assert.deepEqual([provider, model], ['second', 'm2']);
  const stateless = { turnId: getTurnId('stateless'), model: 'default', message: 'hello' };
  assert.equal((await app.bus.call('turns.complete', stateless)).response, 'yes');
});

test('a turn whose circuit breaker is open fails with the retry time', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 500 });
  await using app = await testSessions({
    settings: { providers: { entries: { first: entry(upstream) } } },
    agents: { default: { ...MODEL, circuitBreaker: { failureThreshold: 1 } } },
  });
  const sendRequest = () => app.bus.call('agent.execute', { message: 'hello' });
  await assert.rejects(sendRequest(), { code: 'UNAVAILABLE' });
  await assert.rejects(sendRequest(), (error: { code?: string; details?: { reason?: string; retryAfterMs?: number } }) => {
    assert.deepEqual([error.code, error.details?.reason], ['UNAVAILABLE', 'CIRCUIT_OPEN']);
    assert.ok((error.details?.retryAfterMs ?? 0) > 50_000);
    return true;
  });
});

test('a started turn ends with circuit_open when the breakers of all models are open', async () => {
  const call = { callId: 'c1', name: 'look', input: {}, text: '{}' };
  const usage = { input: 3, output: 2 };
  let calls = 0;
  const models = {
    streamTo: async (_request: ModelRequest, sendMessage: OnDelta): Promise<ModelEnd> => {
      if ((calls += 1) > 1) throw new ServiceError('UNAVAILABLE', 'left alone', { details: { reason: CIRCUIT_OPEN } });
      sendMessage('looking', 'text');
      return { calls: [call], reason: 'tool-calls', usage, costUsd: 0 };
    },
    complete: () => assert.fail('it is read as it comes'),
  };
  const tools = { specs: [], isReadOnly: () => true, isIdempotent: () => true, use: async () => ({ result: 'seen', failed: false }) };
  const { signal } = new AbortController();
  const limits = { maxSteps: 5, maxTokens: 1_000, promptTimeoutMs: 1_000 };
  const onText = () => undefined;
  const plan = { ...limits, model: { provider: 'first', modelId: 'm1' }, messages: [], tools, signal, onText };
  const running = runAgentLoop(models, plan);
  let step = await running.next();
  while (!step.done) step = await running.next();
  const { finishReason, response, tokensUsed } = step.value.result;
  assert.deepEqual([finishReason, response, tokensUsed.total], ['circuit_open', 'looking', 5]);
});
