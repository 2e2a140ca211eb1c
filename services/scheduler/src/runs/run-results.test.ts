import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Handlers } from '@switchyard/bus';
import { contracts, type Params, type Result } from '@switchyard/contracts';
import { testScheduler } from '../scheduler.fixture.ts';

const rare: Params<'cron.add'> = { name: 'tick', message: 'What time is it?', schedule: { kind: 'interval', everyMs: 3_600_000 } };
const deliverTo = { channelType: 'telegram', channelId: '678' };

test('the text of a run goes to the target of its job, once', async () => {
  const sent: object[] = [];
  await using app = await testScheduler();
  const handlers: Partial<Handlers<typeof contracts.channels>> = {
    'deliver.send': (params): Result<'deliver.send'> => (sent.push(params), { entryId: 'entry_1' }),
  };
  await (await app.host.connect('channels')).serve(contracts.channels, handlers, { version: '0.0.0' });
  await app.bus.call('cron.add', { ...rare, deliverTo });
  await app.bus.call('cron.run', { name: 'tick' });
  const order = await app.turns.next();
  app.turns.end(order.turnId);
  await app.nextEvent('scheduler:job_completed');
  assert.deepEqual(sent, [
    {
      agentId: 'default',
      target: deliverTo,
      text: 'It is noon.',
      attachments: [],
      priority: 'normal',
      idempotencyKey: order.idempotencyKey,
    },
  ]);
  assert.equal((await app.bus.call('cron.runs', { name: 'tick' })).runs[0]?.delivery, 'delivered');
});

test('a run has the counts of its model and tool calls', async () => {
  await using app = await testScheduler();
  await app.bus.call('cron.add', rare);
  for (const tools of [
    { calls: 3, failed: ['link_process'] },
    { calls: 0, failed: [] },
  ]) {
    await app.bus.call('cron.run', { name: 'tick' });
    app.turns.end((await app.turns.next()).turnId, { tools });
    await app.nextEvent('scheduler:job_completed');
  }
  const { runs } = await app.bus.call('cron.runs', { name: 'tick' });
  assert.deepEqual(
    runs.map(({ llmCalls, toolCalls, failedTools }) => [llmCalls, toolCalls, failedTools]),
    [
      [1, 0, undefined],
      [1, 3, ['link_process']],
    ],
  );
});

test('without a channels service the text stays in the run, which says so', async () => {
  await using app = await testScheduler();
  await app.bus.call('cron.add', { ...rare, deliverTo });
  await app.bus.call('cron.run', { name: 'tick' });
  app.turns.end((await app.turns.next()).turnId);
  await app.nextEvent('scheduler:job_completed');
  const [run] = (await app.bus.call('cron.runs', { name: 'tick' })).runs;
  assert.deepEqual([run?.status, run?.delivery, run?.summary], ['ok', 'not installed', 'It is noon.']);
});

test('a turn that ended before its order was answered costs the run no poll interval', async () => {
  await using app = await testScheduler({ endAtOnce: true });
  await app.bus.call('cron.add', rare);
  const startedAt = performance.now();
  await app.bus.call('cron.run', { name: 'tick' });
  assert.equal((await app.nextEvent('scheduler:job_completed')).success, true);
  assert.ok(performance.now() - startedAt < 10_000);
});

test('a job without a successful run in three fires is reported once', async () => {
  await using app = await testScheduler({ settings: { scheduler: { cron: { maxConsecutiveErrors: 0 } } } });
  await app.bus.call('cron.add', { ...rare, schedule: { kind: 'interval', everyMs: 1_000 } });
  // The first run does not end, so that the fires after it are skipped.
  const { turnId } = await app.turns.next();
  const { error, source } = await app.nextEvent('system:error');
  assert.match(error.message, /^The job tick .* 3 fires without a successful run/);
  assert.deepEqual([error.errorKind, source], ['job_without_success', 'scheduler']);
  app.turns.end(turnId);
  await app.nextEvent('scheduler:job_completed');
});

test('a fire within an exclusion window is skipped with its reason', async () => {
  await using app = await testScheduler();
  const exclude = [
    { start: '00:00', end: '12:00' },
    { start: '12:00', end: '00:00' },
  ];
  await app.bus.call('cron.add', { ...rare, schedule: { kind: 'interval', everyMs: 1_000 }, exclude });
  await app.nextEvent('system:error');
  const { runs } = await app.bus.call('cron.runs', { name: 'tick' });
  assert.match(runs.at(-1)?.error ?? '', /^within the exclusion window (00:00 to 12:00|12:00 to 00:00)$/);
  assert.equal(app.turns.orders.size, 0);
});

test('an unknown time zone is refused with the nearest name', async () => {
  await using app = await testScheduler();
  const schedule = { kind: 'cron' as const, expr: '0 22 * * *', tz: 'Europe/Olso' };
  await assert.rejects(app.bus.call('cron.add', { ...rare, schedule }), {
    code: 'INVALID_ARGUMENT',
    message: /schedule\.tz: .*did you mean Europe\/Oslo\?/,
  });
});
