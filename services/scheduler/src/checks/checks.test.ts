import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { tempDir } from '@switchyard/testkit';
import { createGitCheck, createSystemdCheck, createUpdateCheck } from './command-checks.ts';
import { createResourceCheck, diskCheck } from './machine-checks.ts';
import { createSystemChecks } from './run-checks.ts';
import { createRunCommand, type RunCommand } from './run-command.ts';
import type { SystemCheck } from './system-check.ts';

const settings = sections.monitoring.parse({});
const { signal } = new AbortController();
const printing =
  (output: string | undefined): RunCommand =>
  () =>
    Promise.resolve(output);

test('the disk check raises an alert at the threshold', async () => {
  const full = { ...settings, disk: { enabled: true, paths: ['/'], thresholdPercent: 0 } };
  const alerts = await diskCheck.run(full, signal);
  assert.deepEqual(
    alerts?.map(({ key }) => key),
    ['disk /'],
  );
  assert.match(alerts?.[0]?.text ?? '', /^The file system of \/ is \d+ % used; the limit is 0 %\.$/);
  assert.deepEqual(await diskCheck.run({ ...full, disk: { ...full.disk, thresholdPercent: 100.5 } }, signal), []);
});

test('the resource check measures the processor since the previous check', async () => {
  let times = { user: 100, nice: 0, sys: 0, irq: 0, idle: 900 };
  const check = createResourceCheck(() => [{ times }]);
  const limits = { ...settings, resources: { enabled: true, cpuThresholdPercent: 85, memoryThresholdPercent: 101 } };
  assert.deepEqual(await check.run(limits, signal), []);
  times = { ...times, user: 190, idle: 910 };
  assert.deepEqual(await check.run(limits, signal), [{ key: 'cpu', text: 'The processor is 90 % used; the limit is 85 %.' }]);
});

test('the systemd check reports failed units, all or the configured ones', async () => {
  const output = 'nginx.service loaded failed failed A web server\nbackup.timer loaded failed failed Backups\n';
  const check = createSystemdCheck(printing(output));
  const list = async (services: string[]) =>
    (await check.run({ ...settings, systemd: { enabled: true, services } }, signal))?.map(({ key }) => key);
  assert.deepEqual(await list([]), ['systemd nginx.service', 'systemd backup.timer']);
  assert.deepEqual(await list(['nginx']), ['systemd nginx.service']);
  assert.equal(await createSystemdCheck(printing(undefined)).run(settings, signal), undefined);
});

test('the update check counts packages with security updates', async () => {
  const output = [
    'Inst openssl [3.0.1] (3.0.2 Ubuntu:24.04/noble-updates, Ubuntu:24.04/noble-security [amd64])',
    'Inst vim [9.0] (9.1 Ubuntu:24.04/noble-updates [amd64])',
    'Conf vim (9.1 Ubuntu:24.04/noble-updates [amd64])',
  ].join('\n');
  const check = createUpdateCheck(printing(output));
  assert.deepEqual(await check.run(settings, signal), [{ key: 'updates', text: '1 packages have security updates: openssl.' }]);
  const all = { ...settings, securityUpdates: { enabled: true, securityOnly: false } };
  assert.deepEqual(await check.run(all, signal), [{ key: 'updates', text: '2 packages have updates: openssl, vim.' }]);
});

test('the git check reports uncommitted changes and a branch that differs from its upstream', async () => {
  await using dir = await tempDir();
  const git = (...args: string[]) => execFileSync('git', args, { cwd: dir.path, stdio: 'pipe' });
  git('init', '--quiet', '--initial-branch=main');
  const check = createGitCheck(createRunCommand(process.env['PATH']));
  const watched = { ...settings, git: { enabled: true, repositories: [dir.path], checkRemote: true } };
  assert.deepEqual(await check.run(watched, signal), []);
  await writeFile(join(dir.path, 'notes.txt'), 'new');
  assert.match((await check.run(watched, signal))?.[0]?.text ?? '', /has 1 uncommitted changes/);
  const behind = await createGitCheck(printing('## main...origin/main [behind 2]\n')).run(watched, signal);
  assert.match(behind?.[0]?.text ?? '', /is behind 2 its upstream/);
});

test('a program that is not installed has no output, and one that fails rejects', async () => {
  const run = createRunCommand(process.env['PATH']);
  assert.equal(await run('no-such-program-here', [], signal), undefined);
  await assert.rejects(run('git', ['no-such-command'], signal));
  assert.equal(await run('printenv', ['HOME'], signal).catch(() => 'none'), 'none');
});

test('a check that hangs or fails is left out and logged once', async () => {
  const logged: string[] = [];
  const hanging: SystemCheck = { name: 'disk', ttlMs: 0, isEnabled: () => true, run: () => new Promise(() => undefined) };
  const failing: SystemCheck = { name: 'git', ttlMs: 0, isEnabled: () => true, run: () => Promise.reject(new Error('broken')) };
  const working: SystemCheck = {
    name: 'resources',
    ttlMs: 0,
    isEnabled: () => true,
    run: () => Promise.resolve([{ key: 'cpu', text: 'hot' }]),
  };
  const log = { warn: (fields: object) => void logged.push((fields as { check: string }).check) };
  const runChecks = createSystemChecks({ checks: [hanging, failing, working], log, timeoutMs: 50 });
  for (let n = 0; n < 2; n += 1) assert.deepEqual(await runChecks(settings), { checksRun: 1, alerts: [{ key: 'cpu', text: 'hot' }] });
  assert.deepEqual(logged.toSorted(), ['disk', 'git']);
});

test('heartbeats at the same time share a result', async () => {
  let [runs, at] = [0, 0];
  const check: SystemCheck = {
    name: 'disk',
    ttlMs: 1_000,
    isEnabled: () => true,
    run: () => Promise.resolve([{ key: 'n', text: `${(runs += 1)}` }]),
  };
  const runChecks = createSystemChecks({ checks: [check], log: { warn: () => undefined }, now: () => at });
  await Promise.all([runChecks(settings), runChecks(settings)]);
  at = 999;
  await runChecks(settings);
  assert.equal(runs, 1);
  at = 1_000;
  await runChecks(settings);
  assert.equal(runs, 2);
});
