import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { principal, startUpstream, tempDir } from '@switchyard/testkit';
import { testSessions, getTurnId } from '../sessions.fixture.ts';

const script = (...steps: object[]): string => JSON.stringify(steps);
const TALK = 'one two three four five six seven eight nine ten';

function isExceeded(error: unknown): boolean {
  assert.ok(error instanceof ServiceError);
  const { reason, retryAfterMs = 0 } = error.details;
  assert.deepEqual([error.code, reason, error.retryable], ['RESOURCE_EXHAUSTED', 'BUDGET_EXCEEDED', true]);
  assert.ok(retryAfterMs > 0 && retryAfterMs <= 3_600_000, `${retryAfterMs}`);
  return true;
}

test('rejects a turn before the model call when the budget is exhausted, by every entry point and after a restart', async () => {
  await using dir = await tempDir();
  await using upstream = await startUpstream({ kind: 'text', text: 'yes', usage: { prompt: 90, completion: 20 } });
  const options = {
    data: dir.path,
    settings: { providers: { entries: { lab: { type: 'openai-compatible' as const, baseUrl: upstream.url } } } },
    agents: { default: { provider: 'lab', model: 'one', budgets: { perHour: 100 } } },
  };
  for (const answers of [1, 0]) {
    await using app = await testSessions(options);
    if (answers === 1) assert.equal((await app.bus.call('agent.execute', { message: 'hello' })).response, 'yes');
    await assert.rejects(app.bus.call('agent.execute', { message: 'hello' }), isExceeded);
    const stateless = { turnId: getTurnId('stateless'), model: 'default', message: 'hello' };
    await assert.rejects(app.bus.call('turns.complete', stateless), isExceeded);
    await assert.rejects(Array.fromAsync(app.bus.stream('turns.run', stateless)), isExceeded);
  }
  assert.equal(upstream.requests.length, 1);
});

test('ends a turn with budget_exceeded when the budget is exhausted between two model calls', async () => {
  const talk = script({ text: TALK }, { tool: { name: 'session_status', input: {} } }, { text: 'never said' });
  await using app = await testSessions({ agents: { scripted: { model: 'dev/scripted', budgets: { perDay: 12 } } } });
  const { response, finishReason } = await app.bus.call('agent.execute', { agentId: 'scripted', message: talk });
  assert.deepEqual([response, finishReason], [TALK, 'budget_exceeded']);
});

test('a model call that fails before its first output uses no budget', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 400 }, { kind: 'text', text: 'yes' });
  await using app = await testSessions({
    settings: { providers: { entries: { lab: { type: 'openai-compatible', baseUrl: upstream.url } } } },
    agents: { default: { provider: 'lab', model: 'one', budgets: { perHour: 10 } } },
  });
  await assert.rejects(app.bus.call('agent.execute', { message: 'hello' }), { code: 'FAILED_PRECONDITION' });
  assert.equal((await app.bus.call('agent.execute', { message: 'hello' })).response, 'yes');
});

test('perExecutionUsd limits the cost of one turn', async () => {
  const again = { kind: 'tools' as const, calls: [{ name: 'session_status', arguments: {} }], text: 'looking' };
  await using upstream = await startUpstream(again);
  const models = [{ id: 'one', cost: { input: 1_000, output: 1_000 } }];
  await using app = await testSessions({
    settings: { providers: { entries: { lab: { type: 'openai-compatible', baseUrl: upstream.url, models } } } },
    agents: { default: { provider: 'lab', model: 'one', budgets: { perExecutionUsd: 0.000001 } } },
  });
  const { finishReason, response } = await app.bus.call('agent.execute', { message: 'hello' });
  assert.deepEqual([finishReason, response, upstream.requests.length], ['budget_exceeded', 'looking', 1]);
});

test('a token budget limits the turns of its client by every entry point, and not those of other clients', async () => {
  await using app = await testSessions();
  const laptop = principal({ client: 'laptop', budgets: { perHour: 5 } });
  const bus = app.bus.as(laptop);
  assert.match((await bus.call('agent.execute', { message: TALK })).response, /You said/);
  await assert.rejects(bus.call('agent.execute', { message: TALK }), isExceeded);
  await assert.rejects(bus.call('turns.complete', { turnId: getTurnId('stateless'), model: 'default', message: TALK }), isExceeded);
  assert.match((await app.bus.call('agent.execute', { message: TALK })).response, /You said/);
});

test('budgets.spend counts in the agent and token budgets and is rejected like a turn', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'yes', usage: { prompt: 10, completion: 1 } });
  await using app = await testSessions({
    settings: { providers: { entries: { lab: { type: 'openai-compatible', baseUrl: upstream.url } } } },
    agents: { default: { provider: 'lab', model: 'one', budgets: { perHour: 1_000 } }, other: { budgets: { perHour: 1_000 } } },
  });
  const registry = await app.host.connect('registry');
  const spend = (tokens: number, more: object = {}, who = principal()) =>
    registry.as(who).call('budgets.spend', { provider: 'lab', modelId: 'vectors', tokens, ...more });
  assert.deepEqual(await spend(400), { tokens: 400, costUsd: 0 });
  await spend(500, { late: true });
  await spend(200);
  await assert.rejects(spend(1), isExceeded);
  await assert.rejects(app.bus.call('agent.execute', { message: 'hello' }), isExceeded);
  assert.deepEqual(await spend(50, { late: true }), { tokens: 0, costUsd: 0 }, 'what was used is refused no more');
  await spend(400, { agentId: 'other' });
  const held = principal({ client: 'held', budgets: { perHour: 100 } });
  await spend(100, { agentId: 'other' }, held);
  await assert.rejects(spend(1, { agentId: 'other' }, held), isExceeded);
  await spend(1, { agentId: 'other' });
});
