import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess, tempDir } from '@switchyard/testkit';
import { isAlive, SKIP } from '../cluster/processes.ts';

const POLL_MS = 50;
const READY_MS = 60_000;

test('leaves no process running after the chaos run is killed', { skip: SKIP, timeout: 120_000 }, async () => {
  await using dir = await tempDir();
  const program = `
    const { startChaosCluster } = await import('${import.meta.dirname}/cluster.ts');
    const cluster = await startChaosCluster('${dir.path}', new AsyncDisposableStack());
    console.log('runs ' + cluster.processes().map(({ pid }) => pid).join(' '));`;
  await using rig = await startProcess([process.execPath, '--input-type=module-typescript', '--eval', program], {
    ready: /^runs ([\d ]+)$/m,
    cwd: import.meta.dirname,
    timeoutMs: READY_MS,
  });
  const started = (rig.ready[1] ?? '').split(' ').map(Number);
  assert.ok(started.length > 8 && started.every(isAlive), String(started));
  await rig.end('SIGKILL');
  while (started.some(isAlive)) await sleep(POLL_MS);
});
