import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Params, TokenStanding } from '@switchyard/contracts';
import { testScheduler } from './scheduler.fixture.ts';

const rare: Params<'cron.add'> = { name: 'tick', message: 'What time is it?', schedule: { kind: 'interval', everyMs: 3_600_000 } };

test('a job is suspended after maxConsecutiveErrors errors, and resumed by cron.update', async () => {
  await using app = await testScheduler({ settings: { scheduler: { cron: { maxConsecutiveErrors: 2 } } } });
  await app.bus.call('cron.add', rare);
  for (let run = 0; run < 2; run += 1) {
    await app.bus.call('cron.run', { name: 'tick' });
    const { turnId } = await app.turns.next();
    app.turns.end(turnId, { state: 'failed', result: undefined, failure: { code: 'UNAVAILABLE', message: 'no answer' } });
    await app.nextEvent('scheduler:job_completed');
  }
  const { reason } = await app.nextEvent('scheduler:job_suspended');
  assert.equal(reason, '2 errors in a row; the last: no answer');
  const suspended = await app.bus.call('cron.status', { name: 'tick' });
  assert.deepEqual([suspended.enabled, suspended.nextRunAtMs, suspended.pausedReason], [false, null, reason]);
  assert.notEqual((await app.bus.call('cron.update', { name: 'tick', enabled: true })).nextRunAtMs, null);
  const resumed = await app.bus.call('cron.status', { name: 'tick' });
  assert.deepEqual([resumed.enabled, resumed.consecutiveErrors, resumed.pausedReason], [true, 0, undefined]);
});

test('a success resets the errors', async () => {
  await using app = await testScheduler();
  await app.bus.call('cron.add', rare);
  for (const state of ['failed', 'done'] as const) {
    await app.bus.call('cron.run', { name: 'tick' });
    app.turns.end((await app.turns.next()).turnId, { state });
    await app.nextEvent('scheduler:job_completed');
  }
  const { consecutiveErrors, lastError } = await app.bus.call('cron.status', { name: 'tick' });
  assert.deepEqual([consecutiveErrors, lastError], [0, undefined]);
});

test('a job whose maker lost rights is suspended and orders no turn', async () => {
  const lost: [TokenStanding, RegExp][] = [
    [{ state: 'gone' }, /token of test, .* revoked or has expired/],
    [{ state: 'narrowed', rights: ['scopes', 'agents'] }, /fewer rights now \(scopes, agents\)/],
  ];
  for (const [standing, message] of lost) {
    await using app = await testScheduler({ standing: () => standing });
    await app.bus.call('cron.add', rare);
    await app.bus.call('cron.run', { name: 'tick' });
    const { reason, jobId } = await app.nextEvent('scheduler:job_suspended');
    assert.match(reason, message);
    assert.equal(app.turns.orders.size, 0);
    const records = app.audited.filter(({ method }) => method === 'cron.suspend');
    assert.deepEqual(
      records.map(({ target }) => target),
      [{ jobId, name: 'tick', agentId: 'default', client: 'test' }],
    );
  }
});

test('a paused job shows its reason', async () => {
  await using app = await testScheduler();
  await app.bus.call('cron.add', { ...rare, enabled: false, pausedReason: 'until the move is over' });
  const { enabled, pausedReason } = await app.bus.call('cron.status', { name: 'tick' });
  assert.deepEqual([enabled, pausedReason], [false, 'until the move is over']);
});

test('the options of a job reach its turn', async () => {
  await using app = await testScheduler();
  await app.bus.call('cron.add', {
    ...rare,
    model: 'dev/echo',
    timeoutSeconds: 90,
    sessionStrategy: 'rolling',
    budget: { tokens: 900, costUsd: 0.5 },
  });
  await app.bus.call('cron.run', { name: 'tick' });
  const { model, timeoutMs, history, session, tools, limits } = await app.turns.next();
  assert.deepEqual([tools, limits], [{ profile: 'cron-minimal' }, { tokens: 900, costUsd: 0.5 }]);
  assert.deepEqual([model, timeoutMs, history], ['dev/echo', 90_000, { mode: 'rolling' }]);
  assert.ok(typeof session === 'object' && session.threadId === undefined);
});

test('a queued run waits for the end of the earlier one', async () => {
  await using app = await testScheduler();
  await app.bus.call('cron.add', { ...rare, overlap: 'queue' });
  await app.bus.call('cron.run', { name: 'tick' });
  const first = await app.turns.next();
  await app.bus.call('cron.run', { name: 'tick' });
  assert.equal(app.turns.orders.size, 1);
  app.turns.end(first.turnId);
  assert.notEqual((await app.turns.next()).turnId, first.turnId);
});

test('with overlap cancel a later run cancels the earlier one, which counts as no error', async () => {
  await using app = await testScheduler();
  await app.bus.call('cron.add', { ...rare, overlap: 'cancel' });
  await app.bus.call('cron.run', { name: 'tick' });
  const first = await app.turns.next();
  await app.bus.call('cron.run', { name: 'tick' });
  const second = await app.turns.next();
  assert.notEqual(second.turnId, first.turnId);
  app.turns.end(second.turnId);
  const ends = [await app.nextEvent('scheduler:job_completed'), await app.nextEvent('scheduler:job_completed')];
  assert.deepEqual(
    ends.map(({ success }) => success),
    [false, true],
  );
  const { runs } = await app.bus.call('cron.runs', { name: 'tick' });
  assert.deepEqual(
    runs.map(({ status }) => status),
    ['ok', 'skipped'],
  );
  assert.match(runs[1]?.error ?? '', /a later fire of this job cancelled this run/);
  assert.equal((await app.bus.call('cron.status', { name: 'tick' })).consecutiveErrors, 0);
});

test(
  'with overlap cancel and all slots full a new run gets a slot as soon as the cancelled run has ended',
  { timeout: 60_000 },
  async () => {
    await using app = await testScheduler({ settings: { scheduler: { cron: { maxConcurrentRuns: 1 } } } });
    await app.bus.call('cron.add', { ...rare, overlap: 'cancel' });
    await app.bus.call('cron.add', { ...rare, name: 'other' });
    await app.bus.call('cron.run', { name: 'tick' });
    const first = await app.turns.next();
    // The other job waits in the same line, before the new run.
    await app.bus.call('cron.run', { name: 'other' });
    await app.bus.call('cron.run', { name: 'tick' });
    const other = await app.turns.next();
    app.turns.end(other.turnId);
    const second = await app.turns.next();
    app.turns.end(second.turnId);
    const ends = [];
    for (let run = 0; run < 3; run += 1) ends.push(await app.nextEvent('scheduler:job_completed'));
    assert.deepEqual(
      ends.map(({ jobName, success }) => [jobName, success]),
      [
        ['tick', false],
        ['other', true],
        ['tick', true],
      ],
    );
    assert.deepEqual(
      [...app.turns.orders.keys()],
      [first, other, second].map(({ idempotencyKey }) => idempotencyKey),
    );
    const { runs } = await app.bus.call('cron.runs', { name: 'tick' });
    assert.deepEqual(
      runs.map(({ status }) => status),
      ['ok', 'skipped'],
    );
  },
);

test('with overlap cancel a new run runs although the turn of the earlier one no longer exists', { timeout: 60_000 }, async () => {
  await using app = await testScheduler();
  await app.bus.call('cron.add', { ...rare, overlap: 'cancel' });
  await app.bus.call('cron.run', { name: 'tick' });
  const first = await app.turns.next();
  app.turns.forget(first.turnId);
  await app.bus.call('cron.run', { name: 'tick' });
  const second = await app.turns.next();
  app.turns.end(second.turnId);
  const ends = [await app.nextEvent('scheduler:job_completed'), await app.nextEvent('scheduler:job_completed')];
  assert.deepEqual(
    ends.map(({ error }) => error),
    ['the turn of this run no longer exists', undefined],
  );
});

test('cron.next returns the next fires with the offset of their time', async () => {
  await using app = await testScheduler();
  const schedule = { kind: 'cron' as const, expr: '30 2 * * *', tz: 'Europe/Oslo' };
  const { fires } = await app.bus.call('cron.next', { schedule, count: 50 });
  assert.equal(fires.length, 50);
  for (const { at, atMs } of fires) assert.equal(Date.parse(at), atMs);
  assert.ok(fires.every(({ at }) => /T0[23]:\d\d:00\+0[12]:00$/.test(at)));
  await app.bus.call('cron.add', { ...rare, schedule });
  assert.deepEqual((await app.bus.call('cron.next', { name: 'tick', count: 1 })).fires, fires.slice(0, 1));
  for (const params of [{}, { name: 'tick', schedule }, { name: 'tick', count: 51 }])
    await assert.rejects(app.bus.call('cron.next', params), { code: 'INVALID_ARGUMENT' });
});

test('cron.list counts the fires of a day, and a paused job has none', async () => {
  await using app = await testScheduler();
  const schedule = { kind: 'cron' as const, expr: '30 * * * *' };
  await app.bus.call('cron.add', { ...rare, schedule });
  await app.bus.call('cron.add', { ...rare, name: 'paused', schedule, enabled: false });
  const { jobs, hoursFromMs = 0 } = await app.bus.call('cron.list', { density: true });
  const [paused, tick] = jobs.map(({ firesPerHour = [] }) => firesPerHour);
  assert.equal(hoursFromMs % 3_600_000, 0);
  assert.deepEqual(
    tick?.slice(1),
    Array.from({ length: 23 }, () => 1),
  );
  assert.deepEqual(
    paused,
    Array.from({ length: 24 }, () => 0),
  );
  assert.equal((await app.bus.call('cron.list', {})).jobs[0]?.firesPerHour, undefined);
});
