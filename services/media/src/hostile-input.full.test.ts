// alone: measures delays of the event loop
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { test } from 'node:test';
import { startProcess, tempDir } from '@switchyard/testkit';
import { DELAY_RESOLUTION_MS, type HostileReport } from './hostile-calls.fixture.ts';
import { HOSTILE_FILES } from './hostile-files.fixture.ts';

const TIMEOUT_MS = 180_000;
const MAX_GROWTH_MIB = 50;
/** Highest p99 delay of the service's event loop above that of an idle process, which measures how busy the machine is. */
const MAX_DELAY_MS = 20;
const NAMED_REFUSALS = ['INVALID_ARGUMENT', 'FAILED_PRECONDITION'];

test('hostile files end as a text or a named refusal, and the service stays responsive and small', { timeout: TIMEOUT_MS }, async (t) => {
  await using folder = await tempDir();
  for (const [name, bytes] of Object.entries(HOSTILE_FILES)) writeFileSync(join(folder.path, name), bytes);
  const program = join(import.meta.dirname, 'hostile-calls.fixture.ts');
  const idle = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  idle.enable();
  await using service = await startProcess([process.execPath, program, folder.path], {
    ready: /^(\{"calls":.*\})\n/m,
    timeoutMs: TIMEOUT_MS,
  });
  idle.disable();
  const { calls, p99Ms, maxMs, grownMiB } = JSON.parse(service.ready[1] ?? '') as HostileReport;
  const idleMs = idle.percentile(99) / 1e6;
  const slowest = calls.toSorted((a, b) => b.blockedMs - a.blockedMs).slice(0, 5);
  t.diagnostic(`event loop: p99 ${p99Ms.toFixed(1)} ms, max ${maxMs.toFixed(1)} ms; beside it p99 ${idleMs.toFixed(1)} ms`);
  for (const { file, method, blockedMs } of slowest) t.diagnostic(`${blockedMs.toFixed(1)} ms at most: ${method} of ${file}`);
  t.diagnostic(`memory: ${grownMiB.toFixed(0)} MiB more`);

  assert.equal(new Set(calls.map(({ file }) => file)).size, Object.keys(HOSTILE_FILES).length);
  for (const { file, method, code, message } of calls)
    assert.ok(code === undefined || NAMED_REFUSALS.includes(code), `${method} of ${file}: ${code} ${message}`);
  assert.ok(p99Ms - idleMs < MAX_DELAY_MS, `the event loop was ${p99Ms.toFixed(1)} ms late, one beside it ${idleMs.toFixed(1)} ms`);
  assert.ok(grownMiB < MAX_GROWTH_MIB, `the service grew by ${grownMiB.toFixed(0)} MiB`);
});
