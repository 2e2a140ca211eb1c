import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal, type TestService } from '@switchyard/testkit';
import { AgentConfig, TurnEvidence } from '@switchyard/contracts';
import { turnCollection } from '../model/turn-document.ts';
import { testSessions } from '../sessions.fixture.ts';
import { createTurnTracer } from './turn-trace.ts';

const admin = principal({ scopes: ['*'] });
const SECRET = 'otters7green';
const earlierUsage = { input: 0, output: 0 };

async function getEvidence({ host }: TestService): Promise<TurnEvidence | undefined> {
  const store = await host.store('sessions');
  const { turns } = await store.open({ turns: turnCollection });
  const { items } = await turns.for(admin).find({}, { sort: [['createdAt', 'desc']], limit: 1 });
  await store.close();
  const [{ trace } = {}] = items;
  return trace === undefined ? undefined : TurnEvidence.parse(JSON.parse(trace));
}

test('records counts, times and digests of each step and no text', async () => {
  await using app = await testSessions({ as: admin, agents: { default: { model: 'dev/tools' } } });
  await app.bus.call('agent.execute', { message: SECRET });
  await app.bus.call('agent.execute', { message: `session_search {"query":"${SECRET}"}` });
  const evidence = await getEvidence(app);
  assert.ok(!JSON.stringify(evidence).includes(SECRET));
  assert.equal(evidence?.model, 'dev/tools');
  const { messages, summaries, leftOut, tools = 0 } = evidence.told ?? {};
  assert.deepEqual([messages, summaries, leftOut], [2, 0, 0]);
  assert.ok(tools > 0);
  assert.deepEqual(
    evidence.steps.map(({ step }) => step),
    [1, 2],
  );
  const [first, second] = evidence.steps;
  const [tool] = first?.tools ?? [];
  assert.equal(tool?.name, 'session_search');
  assert.match(tool.args, /^[0-9a-f]{12}$/);
  assert.match(tool.result ?? '', /^[0-9a-f]{12}$/);
  assert.deepEqual([tool.failed, first?.tools?.length, second?.tools], [false, 1, undefined]);
  for (const { ms, input = 0, output = 0 } of evidence.steps) assert.ok(ms >= 0 && input > 0 && output > 0);
});

test('records the progress of a failed turn', async () => {
  await using app = await testSessions({ as: admin, agents: { default: { model: 'dev/scripted' } } });
  await assert.rejects(app.bus.call('agent.execute', { message: '[{"text":"half"},{"error":{"status":400,"message":"no"}}]' }));
  const evidence = await getEvidence(app);
  assert.deepEqual(
    evidence?.steps.map(({ step, chars }) => [step, chars]),
    [[1, 4]],
  );
});

test('records cost, repetitions and the model that answered of each step', () => {
  const tracer = createTurnTracer({ now: () => 0, earlierSteps: 0, earlierUsage, sep: AgentConfig.parse({}).sep });
  const [requested, spare] = [
    { provider: 'local', modelId: 'm' },
    { provider: 'spare', modelId: 'n' },
  ];
  tracer.recordFrame({ type: 'step', step: 1 });
  tracer.recordModelCall(requested, { costUsd: 0.25 });
  tracer.recordFrame({ type: 'step', step: 2 });
  tracer.recordRetry();
  tracer.recordModelCall(requested, undefined);
  tracer.recordModelCall(requested, { costUsd: 0.5, model: spare });
  const { steps } = tracer.build(requested);
  assert.deepEqual(
    steps.map(({ costUsd, model, fallback, calls, retries }) => [costUsd, model, fallback, calls, retries]),
    [
      [0.25, 'local/m', undefined, undefined, undefined],
      [0.5, 'spare/n', true, 2, 1],
    ],
  );
});

test('does not count the usage of earlier runs for the last step of a resumed turn', () => {
  const spent = { input: 100, output: 10 };
  const tracer = createTurnTracer({ now: () => 0, earlierSteps: 1, earlierUsage: spent, sep: AgentConfig.parse({}).sep });
  // The agent loop adds the calls of this run to the same object.
  Object.assign(spent, { input: 150, output: 16 });
  tracer.recordFrame({ type: 'step', step: 2 });
  tracer.recordCheckpoint({ mark: 'said', text: '', calls: [], input: 20, output: 2, costUsd: 0 });
  tracer.recordFrame({ type: 'step', step: 3 });
  const tokensUsed = { ...spent, total: spent.input + spent.output };
  const { steps } = tracer.build(undefined, { result: { response: '', tokensUsed, finishReason: 'stop' } });
  assert.deepEqual(
    steps.map(({ step, input, output }) => [step, input, output]),
    [
      [2, 20, 2],
      [3, 30, 4],
    ],
  );
});

test('records what is left of the budget of the turn and what is reserved, before each model call', async () => {
  const script = JSON.stringify([{ text: 'one two three' }, { tool: { name: 'session_status', input: {} } }, { text: 'done' }]);
  const budgets = { perExecution: 5_000, perExecutionUsd: 2, perHour: 100_000 };
  await using app = await testSessions({ as: admin, agents: { default: { model: 'dev/scripted', budgets } } });
  await app.bus.call('agent.execute', { message: script });
  const steps = (await getEvidence(app))?.steps ?? [];
  assert.equal(steps.length, 2);
  const [first, second] = steps.map(({ budget }) => budget ?? assert.fail('a step without its budget'));
  assert.deepEqual([first?.leftTokens, first?.leftUsd], [5_000, 2]);
  assert.equal(second?.leftTokens, 5_000 - (steps[0]?.input ?? 0) - (steps[0]?.output ?? 0));
  for (const { reservedTokens = 0 } of [first, second].filter((budget) => budget !== undefined)) assert.ok(reservedTokens > 0);
});

test('limits the size of the trace for any number of steps', () => {
  const tracer = createTurnTracer({ now: () => 0, earlierSteps: 3, earlierUsage, sep: AgentConfig.parse({}).sep });
  const call = { callId: 'c', name: 'look', input: {}, text: '{}' };
  const calls = Array.from({ length: 40 }, () => call);
  for (let step = 1; step <= 150; step += 1) {
    tracer.recordFrame({ type: 'step', step });
    tracer.recordCheckpoint({ mark: 'said', text: '', calls, input: 1, output: 1, costUsd: 0, begins: 'c' });
    for (const { callId } of calls) tracer.recordCheckpoint({ mark: 'result', callId, result: 'x', failed: false });
  }
  const evidence = tracer.build(undefined);
  assert.deepEqual([evidence.steps.length, evidence.dropped, evidence.before], [60, 90, 3]);
  assert.deepEqual([evidence.steps[19]?.step, evidence.steps[20]?.step, evidence.steps.at(-1)?.moreTools], [20, 111, 24]);
  assert.ok(JSON.stringify(evidence).length < 131_072);
});
