import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, type ConfigurationPatch } from '@switchyard/contracts';
import { principal, startUpstream, type TestService } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

const toolPolicy = { profile: 'full' };
const agents = { scripted: { model: 'dev/scripted', skills: { toolPolicy } }, modelled: { provider: 'local', model: 'm' } };
const env = { SWITCHYARD_DEV_TOOLS: 'on' };
const script = (...steps: object[]): string => JSON.stringify(steps);
const answer = (text: string): string => script({ text });
const FOREVER = script({ wait: 60_000 }, { text: 'never' });
const PARENT = 'agent:scripted:default:test:parent';

type Limits = NonNullable<NonNullable<NonNullable<ConfigurationPatch['security']>['agentToAgent']>['subagentContext']>;

async function start(subagentContext: Limits = {}, agentToAgent: object = {}, more: ConfigurationPatch = {}): Promise<TestService> {
  const app = await testSessions({
    agents,
    env,
    settings: {
      ...more,
      daemon: { shutdownTimeoutMs: 100 },
      security: { agentToAgent: { subAgentToolGroups: ['full'], ...agentToAgent, subagentContext } },
    },
    timing: { pollMs: 20, runs: { turnPollMs: 50, queuePollMs: 20, batchMs: 100 } },
  });
  // The development models are not offered beside a configured provider.
  if (!more.providers) await app.bus.call('session.send', { key: PARENT, message: answer('hello') });
  return app;
}

const spawn = (app: TestService, task: string, parentKey = PARENT) => app.bus.call('session.spawn', { parentKey, task });
const getStatus = (app: TestService, runId: string) => app.bus.call('session.run_status', { run_id: runId });
const failsWith =
  (code: string, details: object = {}) =>
  (error: unknown) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, code, error.message);
    assert.deepEqual({ ...error.details, ...details }, error.details);
    return true;
  };

/** Resolves with the events of a name whose payload matches, once there are so many. */
function collect(app: TestService, name: Parameters<TestService['nextEvent']>[0], count: number) {
  const { promise, resolve } = Promise.withResolvers<Record<string, unknown>[]>();
  const found: Record<string, unknown>[] = [];
  app.bus.on(name, ({ payload }) => {
    found.push(payload);
    if (found.length === count) resolve(found);
  });
  return promise;
}

test('runs a task in a session of its own and announces the result to the parent', async () => {
  await using app = await start();
  const started = app.nextEvent('session:sub_agent_spawn_started');
  const ended = app.nextEvent('session:sub_agent_lifecycle_ended');
  const completed = app.nextEvent('session:sub_agent_completed');
  const announced = collect(app, 'turn:ended', 2);
  const run = await spawn(app, answer('the second offer'));
  assert.deepEqual([run.status, run.async, run.agentId], ['running', true, 'scripted']);
  assert.equal(run.sessionKey, `agent:scripted:default:sub-agent-${run.runId}:sub-agent:${run.runId}`);
  assert.equal((await started).depth, 1);
  assert.equal((await ended).endReason, 'completed');
  assert.equal((await completed).success, true);
  const { status, response, callerSessionKey, tokensUsed } = await getStatus(app, run.runId);
  assert.deepEqual([status, response, callerSessionKey], ['completed', 'the second offer', PARENT]);
  assert.ok((tokensUsed?.total ?? 0) > 0);
  assert.deepEqual(
    (await announced).map(({ sessionKey, kind }) => [sessionKey, kind]),
    [
      [run.sessionKey, 'subagent'],
      [PARENT, 'subagent'],
    ],
  );
});

test('rejects a run beyond depth, children and queue, with an event', async () => {
  await using app = await start({ maxChildrenPerAgent: 1, maxQueuedPerAgent: 1, maxSpawnDepth: 1 });
  const first = await spawn(app, FOREVER);
  const queued = app.nextEvent('session:sub_agent_spawn_queued');
  assert.equal((await spawn(app, FOREVER)).status, 'queued');
  assert.deepEqual([(await queued).queuePosition, (await queued).activeChildren], [1, 1]);
  const full = app.nextEvent('session:sub_agent_spawn_rejected');
  await assert.rejects(spawn(app, FOREVER), failsWith('RESOURCE_EXHAUSTED', { reason: 'QUEUE_FULL' }));
  assert.equal((await full).reason, 'queue_full');
  const deep = app.nextEvent('session:sub_agent_spawn_rejected');
  await waitForSession(app, first.sessionKey);
  await assert.rejects(spawn(app, FOREVER, first.sessionKey), failsWith('RESOURCE_EXHAUSTED', { reason: 'DEPTH_EXCEEDED' }));
  assert.deepEqual([(await deep).reason, (await deep).currentDepth, (await deep).maxDepth], ['depth_exceeded', 1, 1]);
});

/** Resolves when the turn of a run has made its session. */
async function waitForSession(app: TestService, key: string): Promise<void> {
  for (;;) {
    const { sessions } = await app.bus.call('session.list', {});
    if (sessions.some(({ sessionKey }) => sessionKey === key)) return;
    await app.bus.flush();
  }
}

test('racing requests never exceed the limits', async () => {
  await using app = await start({ maxChildrenPerAgent: 3, maxQueuedPerAgent: 2 });
  const results = await Promise.allSettled(Array.from({ length: 12 }, () => spawn(app, FOREVER)));
  const statuses = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.status] : []));
  assert.deepEqual(statuses.toSorted(), ['queued', 'queued', 'running', 'running', 'running']);
});

test('a queued run starts when a place is free, and fails after the queue timeout', async () => {
  await using app = await start({ maxChildrenPerAgent: 1, queueTimeoutMs: 1_000 });
  const started = collect(app, 'session:sub_agent_spawn_started', 2);
  const ended = collect(app, 'session:sub_agent_lifecycle_ended', 2);
  const first = await spawn(app, FOREVER);
  const second = await spawn(app, answer('second'));
  await app.bus.call('subagent.kill', { target: first.runId });
  assert.deepEqual(
    (await started).map(({ runId }) => runId),
    [first.runId, second.runId],
  );
  await ended;
  await spawn(app, FOREVER);
  const rejected = app.nextEvent('session:sub_agent_spawn_rejected');
  const late = await spawn(app, FOREVER);
  assert.equal((await rejected).reason, 'queue_timeout');
  assert.match((await getStatus(app, late.runId)).error ?? '', /^queue_timeout/);
});

test('a kill ends the whole tree, and is announced to nobody', async () => {
  await using app = await start();
  const top = await spawn(app, FOREVER);
  await waitForSession(app, top.sessionKey);
  const child = await spawn(app, FOREVER, top.sessionKey);
  await waitForSession(app, child.sessionKey);
  const leaf = await spawn(app, FOREVER, child.sessionKey);
  const ended = collect(app, 'session:sub_agent_lifecycle_ended', 3);
  const killed = await app.bus.call('subagent.kill', { target: top.runId });
  assert.deepEqual(killed, { killed: true, runId: top.runId });
  assert.deepEqual(new Set((await ended).map(({ runId }) => runId)), new Set([top.runId, child.runId, leaf.runId]));
  for (const { runId } of [top, child, leaf]) assert.equal((await getStatus(app, runId)).error, 'Killed by parent agent');
  await assert.rejects(app.bus.call('subagent.kill', { target: top.runId }), failsWith('FAILED_PRECONDITION', { reason: 'RUN_ENDED' }));
  await assert.rejects(spawn(app, FOREVER, child.sessionKey), failsWith('FAILED_PRECONDITION'));
  const { messages } = await app.bus.call('session.export', { session_key: PARENT });
  assert.equal(messages.length, 2);
});

test('the deletion of the parent session ends its runs', async () => {
  await using app = await start();
  const run = await spawn(app, FOREVER);
  const ended = app.nextEvent('session:sub_agent_lifecycle_ended');
  await app.bus.call('session.delete', { session_key: PARENT });
  assert.deepEqual([(await ended).runId, (await ended).endReason], [run.runId, 'swept']);
});

test('steers a run at most once in two seconds', async () => {
  await using app = await start();
  const run = await spawn(app, script({ wait: 500 }, { text: 'first' }));
  await waitForSession(app, run.sessionKey);
  const ended = app.nextEvent('session:sub_agent_lifecycle_ended');
  const steer = () => app.bus.call('subagent.steer', { target: run.runId, message: answer('steered') });
  assert.deepEqual(await steer(), { steered: true, runId: run.runId });
  await assert.rejects(steer(), (error: unknown) => {
    assert.ok(error instanceof ServiceError && error.code === 'RESOURCE_EXHAUSTED');
    return (error.details.retryAfterMs ?? 0) > 0;
  });
  await ended;
  assert.equal((await getStatus(app, run.runId)).response, 'steered');
});

test('another tenant and a restricted client know nothing of a run', async () => {
  await using app = await start();
  const { runId } = await spawn(app, FOREVER);
  const strangers = [app.bus.as({ ...principal(), tenant: 'other' }), app.bus.as({ ...principal(), client: 'other', sessions: 'own' })];
  for (const bus of strangers) {
    await assert.rejects(bus.call('subagent.kill', { target: runId }), failsWith('NOT_FOUND'));
    await assert.rejects(bus.call('session.run_status', { run_id: runId }), failsWith('NOT_FOUND'));
    await assert.rejects(bus.call('session.spawn', { parentKey: PARENT, task: 'x' }), failsWith('NOT_FOUND'));
    assert.equal((await bus.call('subagent.list', {})).total, 0);
  }
  const { runs, total } = await app.bus.call('subagent.list', {});
  assert.deepEqual([total, runs[0]?.runId, runs[0]?.depth], [1, runId, 1]);
  await assert.rejects(
    app.bus.call('session.spawn', { parentKey: PARENT, task: 'x', agentId: 'nobody' }),
    failsWith('INVALID_ARGUMENT', { reason: 'UNKNOWN_AGENT' }),
  );
});

test('the tool starts a run once, and a parent run waits for its children', async () => {
  await using upstream = await startUpstream();
  const call = { name: 'sessions_spawn', arguments: { task: 'leaf', objective: 'test it' } };
  const say = (text: string) => ({ kind: 'text' as const, text });
  upstream.respond(say('hello'), { kind: 'tools', calls: [call] }, say('one'), say('two'), say('three'), say('four'));
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm' }] } };
  await using app = await start({}, {}, { providers: { entries } });
  const parentKey = 'agent:modelled:default:test:parent';
  await app.bus.call('session.send', { key: parentKey, message: 'hello' });
  const ended = collect(app, 'session:sub_agent_lifecycle_ended', 2);
  const top = await app.bus.call('session.spawn', { parentKey, task: 'top' });
  const order = (await ended).map(({ runId, endReason }) => [runId === top.runId, endReason]);
  assert.deepEqual(order, [
    [false, 'completed'],
    [true, 'completed'],
  ]);
  const { runs } = await app.bus.call('subagent.list', {});
  assert.deepEqual(new Set(runs.map(({ depth }) => depth)), new Set([1, 2]));
  const prompts = upstream.requests.map(({ body }) => JSON.stringify(body));
  assert.ok(prompts.some((prompt) => prompt.includes('Objective: test it')));
  assert.ok(prompts.some((prompt) => prompt.includes('Subagent Result: run run_')));
});

test('archives a run after its retention, with its session', async () => {
  await using app = await start({}, { subAgentRetentionMs: 200 });
  const archived = app.nextEvent('session:sub_agent_archived');
  const run = await spawn(app, answer('done'));
  assert.equal((await archived).runId, run.runId);
  const { sessions } = await app.bus.call('session.list', {});
  assert.ok(!sessions.some(({ sessionKey }) => sessionKey === run.sessionKey));
});

test('a long result reaches the parent as a summary of a model, and truncated without one', async () => {
  await using upstream = await startUpstream();
  const say = (text: string) => ({ kind: 'text' as const, text });
  const summary = { taskComplete: true, summary: 'All offers were read.', conclusions: ['the second is best'] };
  upstream.respond(say('hello'), say('offer '.repeat(400)), say(`\`\`\`json\n${JSON.stringify(summary)}\n\`\`\``), say('thanks'));
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm' }] } };
  await using app = await start({ maxResultTokens: 100 }, {}, { providers: { entries } });
  const parentKey = 'agent:modelled:default:test:parent';
  await app.bus.call('session.send', { key: parentKey, message: 'hello' });
  const announced = collect(app, 'turn:ended', 2);
  const ended = app.nextEvent('session:sub_agent_lifecycle_ended');
  const { runId } = await app.bus.call('session.spawn', { parentKey, task: 'read the offers' });
  assert.equal((await ended).condensationLevel, 2);
  await announced;
  const prompt = JSON.stringify(upstream.requests.at(-1)?.body);
  assert.match(prompt, /All offers were read/);
  assert.doesNotMatch(prompt, /offer offer/);
  assert.equal((await getStatus(app, runId)).response, 'offer '.repeat(400));
  upstream.respond(say('offer '.repeat(400)), say('no JSON'), say('thanks'));
  const truncated = app.nextEvent('session:sub_agent_lifecycle_ended');
  await app.bus.call('session.spawn', { parentKey, task: 'read them again' });
  assert.equal((await truncated).condensationLevel, 3);
});
