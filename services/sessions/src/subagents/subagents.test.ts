import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { principal, startUpstream } from '@switchyard/testkit';
import { answer, collect, failsWith, FOREVER, getStatus, PARENT, script, spawn, startRuns, waitForSession } from './subagents.fixture.ts';

test('runs a task in a session of its own and announces the result to the parent', async () => {
  await using app = await startRuns();
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
  await using app = await startRuns({ subagentContext: { maxChildrenPerAgent: 1, maxQueuedPerAgent: 1, maxSpawnDepth: 1 } });
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

test('racing requests never exceed the limits', async () => {
  await using app = await startRuns({ subagentContext: { maxChildrenPerAgent: 3, maxQueuedPerAgent: 2 } });
  const results = await Promise.allSettled(Array.from({ length: 12 }, () => spawn(app, FOREVER)));
  const statuses = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.status] : []));
  assert.deepEqual(statuses.toSorted(), ['queued', 'queued', 'running', 'running', 'running']);
});

test('a queued run starts when a place is free, and fails after the queue timeout', async () => {
  await using app = await startRuns({ subagentContext: { maxChildrenPerAgent: 1, queueTimeoutMs: 1_000 } });
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
  await using app = await startRuns();
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

test('steers a run at most once in two seconds', async () => {
  await using app = await startRuns();
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
  await using app = await startRuns();
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
  await using app = await startRuns({ settings: { providers: { entries } } });
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
  await using app = await startRuns({ agentToAgent: { subAgentRetentionMs: 200 } });
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
  await using app = await startRuns({ subagentContext: { maxResultTokens: 100 }, settings: { providers: { entries } } });
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
