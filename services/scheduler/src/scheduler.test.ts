import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, type Params } from '@switchyard/contracts';
import { principal, tempDir } from '@switchyard/testkit';
import { testScheduler } from './scheduler.fixture.ts';

const hourly = { kind: 'interval' as const, everyMs: 3_600_000 };
const tick: Params<'cron.add'> = { name: 'tick', message: 'What time is it?', schedule: { kind: 'interval', everyMs: 1_000 } };
const rare = { ...tick, schedule: hourly };

test('a job fires once, and its run has the result of the turn', async () => {
  await using app = await testScheduler();
  const { id, nextRunAtMs } = await app.bus.call('cron.add', { ...tick, schedule: { kind: 'once', at: Date.now() + 300 } });
  const order = await app.turns.next();
  assert.deepEqual([order.idempotencyKey, order.message, order.kind], [`${id}@${nextRunAtMs}`, tick.message, 'cron']);
  assert.equal((await app.nextEvent('scheduler:job_started')).jobName, 'tick');
  app.turns.end(order.turnId);
  const { success, jobId } = await app.nextEvent('scheduler:job_completed');
  assert.deepEqual([success, jobId], [true, id]);
  const { runs } = await app.bus.call('cron.runs', { name: 'tick' });
  assert.deepEqual(
    runs.map(({ runAt, status, summary, totalTokens, costUsd }) => [runAt, status, summary, totalTokens, costUsd]),
    [[nextRunAtMs, 'ok', 'It is noon.', 42, 0.002]],
  );
  const status = await app.bus.call('cron.status', { name: 'tick' });
  assert.deepEqual([status.nextRunAtMs, status.lastRunAtMs, status.enabled], [null, nextRunAtMs, true]);
  assert.equal(app.turns.orders.size, 1);
});

test('a failed turn is an error of its run and of its job', async () => {
  await using app = await testScheduler();
  await app.bus.call('cron.add', rare);
  await app.bus.call('cron.run', { name: 'tick' });
  const { turnId } = await app.turns.next();
  app.turns.end(turnId, { state: 'failed', result: undefined, failure: { code: 'UNAVAILABLE', message: 'the model did not answer' } });
  assert.equal((await app.nextEvent('scheduler:job_completed')).error, 'the model did not answer');
  const status = await app.bus.call('cron.status', { name: 'tick' });
  assert.deepEqual([status.lastError, status.consecutiveErrors], ['the model did not answer', 1]);
});

test('a run whose order is refused for good ends with the reason', async () => {
  await using app = await testScheduler();
  app.turns.reject(new ServiceError('PERMISSION_DENIED', 'the token may not use this agent'));
  await app.bus.call('cron.add', rare);
  await app.bus.call('cron.run', { name: 'tick' });
  assert.equal((await app.nextEvent('scheduler:job_completed')).error, 'the token may not use this agent');
});

test('jobs and their schedules survive a restart, and fires that passed meanwhile become one run', async () => {
  await using data = await tempDir();
  {
    await using app = await testScheduler({ data: data.path });
    await app.bus.call('cron.add', tick);
    await app.bus.call('cron.add', { ...rare, name: 'rare' });
  }
  await using app = await testScheduler({ data: data.path });
  const order = await app.turns.next();
  assert.equal(order.message, tick.message);
  const { jobs } = await app.bus.call('cron.list', {});
  assert.deepEqual(
    jobs.map(({ name, scheduleKind, everyMs }) => [name, scheduleKind, everyMs]),
    [
      ['rare', 'interval', 3_600_000],
      ['tick', 'interval', 1_000],
    ],
  );
});

test('a turn runs with the client and the agent of its job', async () => {
  await using app = await testScheduler({ agents: ['oslo'] });
  await app.bus.as(principal({ client: 'alice', agents: ['oslo'] })).call('cron.add', rare);
  await app.bus.call('cron.run', { name: 'tick' });
  const order = await app.turns.next();
  assert.deepEqual([order.client, order.agentId], ['alice', 'oslo']);
});

test('a name is unique per agent, and an ambiguous one asks for the agent', async () => {
  await using app = await testScheduler({ agents: ['oslo'] });
  await app.bus.call('cron.add', rare);
  await assert.rejects(app.bus.call('cron.add', rare), { code: 'ALREADY_EXISTS', message: /default has a job named tick/ });
  await app.bus.call('cron.add', { ...rare, agentId: 'oslo' });
  await assert.rejects(app.bus.call('cron.status', { name: 'tick' }), { code: 'INVALID_ARGUMENT', message: /default, oslo .*agentId/ });
  assert.equal((await app.bus.call('cron.status', { name: 'tick', agentId: 'oslo' })).agentId, 'oslo');
});

test('a job of another agent or tenant is not found', async () => {
  await using app = await testScheduler({ agents: ['oslo'] });
  await app.bus.call('cron.add', rare);
  for (const other of [
    principal({ agents: ['oslo'] }),
    principal({ tenant: 'elsewhere' }),
    principal({ client: 'bob', sessions: 'own' }),
  ]) {
    await assert.rejects(app.bus.as(other).call('cron.status', { name: 'tick' }), { code: 'NOT_FOUND' });
    assert.deepEqual((await app.bus.as(other).call('cron.list', {})).jobs, []);
  }
  await assert.rejects(app.bus.call('cron.add', { ...rare, agentId: 'nowhere' }), { code: 'INVALID_ARGUMENT', message: /nowhere/ });
});

test('cron.update changes the schedule, the message and the agent', async () => {
  await using app = await testScheduler({ agents: ['oslo'] });
  await app.bus.call('cron.add', rare);
  const at = Date.now() + 3_600_000;
  const { nextRunAtMs } = await app.bus.call('cron.update', {
    name: 'tick',
    agentId: 'oslo',
    message: 'new',
    schedule: { kind: 'once', at },
  });
  assert.equal(nextRunAtMs, at);
  await app.bus.call('cron.run', { name: 'tick' });
  const order = await app.turns.next();
  assert.deepEqual([order.agentId, order.message], ['oslo', 'new']);
});

test('a disabled job does not fire, but can be run', async () => {
  await using app = await testScheduler();
  await app.bus.call('cron.add', rare);
  assert.equal((await app.bus.call('cron.update', { name: 'tick', enabled: false })).nextRunAtMs, null);
  await app.bus.call('cron.run', { name: 'tick' });
  app.turns.end((await app.turns.next()).turnId);
  await app.nextEvent('scheduler:job_completed');
  const { enabled, nextRunAtMs } = await app.bus.call('cron.status', { name: 'tick' });
  assert.deepEqual([enabled, nextRunAtMs], [false, null]);
  assert.notEqual((await app.bus.call('cron.update', { name: 'tick', enabled: true })).nextRunAtMs, null);
});

test('cron.remove removes a job', async () => {
  await using app = await testScheduler();
  await app.bus.call('cron.add', rare);
  await app.bus.call('cron.remove', { name: 'tick' });
  await assert.rejects(app.bus.call('cron.run', { name: 'tick' }), { code: 'NOT_FOUND', message: /tick.*cron.list/ });
});

test('an agent has at most maxJobs jobs', async () => {
  await using app = await testScheduler({ settings: { scheduler: { cron: { maxJobs: 1 } } } });
  await app.bus.call('cron.add', rare);
  await assert.rejects(app.bus.call('cron.add', { ...rare, name: 'more' }), { code: 'RESOURCE_EXHAUSTED', message: /1 jobs.*maxJobs/ });
});
