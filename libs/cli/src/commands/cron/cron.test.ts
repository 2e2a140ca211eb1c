import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

const cwd = tmpdir();
const cron = (url: string, ...args: string[]) => runCommand(['cron', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });
const NEXT = 1763719200000;

test('add sends the schedule of its flag', async () => {
  const calls: Call[] = [];
  const added = { id: 'job_1', jobId: 'job_1', name: 'tick', created: true, scheduleKind: 'cron', nextRunAtMs: NEXT, enabled: true };
  await using server = await startServer({ call: (call) => (calls.push(call), added) });
  const { stdout } = await cron(server.url, 'add', 'tick', '--message', 'hello', '--cron', '0 22 * * *', '--tz', 'Europe/Oslo');
  assert.equal(stdout, 'Added tick. Next run: 2025-11-21T10:00 UTC.\n');
  await cron(server.url, 'add', 'tick', '--message', 'hello', '--every', '15m', '--agent', 'oslo');
  assert.deepEqual(
    calls.map(({ params }) => params),
    [
      { name: 'tick', message: 'hello', schedule: { kind: 'cron', expr: '0 22 * * *', tz: 'Europe/Oslo' } },
      { name: 'tick', message: 'hello', schedule: { kind: 'interval', everyMs: 900_000 }, agentId: 'oslo' },
    ],
  );
  for (const wrong of [['--every', '15'], ['--every', '1m', '--at', '2040-01-01T08:00'], []])
    assert.equal((await cron(server.url, 'add', 'tick', '--message', 'hello', ...wrong)).code, 2);
  assert.equal(calls.length, 2);
});

test('list shows the schedule, the next run and why a job is paused', async () => {
  const jobs = [
    { id: 'a', name: 'report', agentId: 'default', scheduleKind: 'cron', expr: '0 22 * * *', tz: 'UTC', nextRunAtMs: NEXT, enabled: true },
    {
      id: 'b',
      name: 'tick',
      agentId: 'oslo',
      scheduleKind: 'interval',
      everyMs: 10_000,
      nextRunAtMs: null,
      enabled: false,
      pausedReason: 'moving',
    },
  ];
  await using server = await startServer({ call: () => ({ jobs }) });
  const { stdout } = await cron(server.url);
  assert.match(stdout, /report +default +0 22 \* \* \* UTC +2025-11-21T10:00 +active/);
  assert.match(stdout, /tick +oslo +every 10 s +- +paused: moving/);
});

test('next and runs print one line each', async () => {
  const answers: Record<string, unknown> = {
    'cron.next': { fires: [{ atMs: NEXT, at: '2025-11-21T11:00:00+01:00' }] },
    'cron.runs': {
      runs: [
        {
          runAt: NEXT,
          durationMs: 1_500,
          success: true,
          status: 'ok',
          totalTokens: 42,
          toolCalls: 3,
          failedTools: ['link_process'],
          summary: 'It is\nnoon.',
        },
      ],
    },
  };
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), answers[call.method]) });
  assert.equal((await cron(server.url, 'next', '--cron', '0 11 * * *', '--count', '1')).stdout, '2025-11-21T11:00:00+01:00\n');
  assert.match(
    (await cron(server.url, 'runs', 'tick')).stdout,
    /2025-11-21T10:00:00 +ok +1\.5 +42 +3 \(failed: link_process\) +It is noon\./,
  );
  assert.deepEqual(calls[0]?.params, { schedule: { kind: 'cron', expr: '0 11 * * *' }, count: 1 });
  assert.equal((await cron(server.url, 'next')).code, 2);
});

test('density draws one bar for each hour', async () => {
  const hours = (first: number, second: number) => [first, second, ...Array.from({ length: 22 }, () => 0)];
  const job = { agentId: 'default', scheduleKind: 'cron', nextRunAtMs: NEXT, enabled: true };
  const jobs = [
    { ...job, id: 'a', name: 'report', firesPerHour: hours(1, 0) },
    { ...job, id: 'b', name: 'tick', firesPerHour: hours(3, 1) },
    { ...job, id: 'c', name: 'idle', firesPerHour: hours(0, 0) },
  ];
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { jobs, hoursFromMs: NEXT }) });
  const lines = (await cron(server.url, 'density')).stdout.split('\n');
  assert.equal(lines.length, 25);
  assert.match(lines[0] ?? '', /^2025-11-21T10:00 +4 +█{40} +tick, report$/);
  assert.match(lines[1] ?? '', /^2025-11-21T11:00 +1 +█{10} +tick$/);
  assert.match(lines[2] ?? '', /^2025-11-21T12:00 +0$/);
  assert.deepEqual(calls[0]?.params, { density: true });
});

test('pause, resume, run and remove send one call each', async () => {
  const calls: Call[] = [];
  const answer = {
    id: 'a',
    name: 'tick',
    jobName: 'tick',
    updated: true,
    removed: true,
    triggered: true,
    mode: 'force',
    nextRunAtMs: null,
  };
  await using server = await startServer({ call: (call) => (calls.push(call), answer) });
  await cron(server.url, 'pause', 'tick', '--reason', 'moving');
  await cron(server.url, 'resume', 'tick');
  await cron(server.url, 'run', 'tick');
  await cron(server.url, 'remove', 'tick', '--yes');
  assert.deepEqual(
    calls.map(({ method, params }) => [method, params]),
    [
      ['cron.update', { name: 'tick', enabled: false, pausedReason: 'moving' }],
      ['cron.update', { name: 'tick', enabled: true }],
      ['cron.run', { name: 'tick' }],
      ['cron.remove', { name: 'tick' }],
    ],
  );
});
