// alone: measures CPU time and memory
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startProcess, tempDir } from '@switchyard/testkit';
import type { HostileReport } from './hostile-calls.fixture.ts';
import { HOSTILE_FILES } from './hostile-files.fixture.ts';

const TIMEOUT_MS = 180_000;
const MAX_GROWTH_MIB = 50;
/** Highest p99 of the CPU time that the service uses before its event loop turns again. */
const MAX_BUSY_MS = 20;
const NAMED_REFUSALS = ['INVALID_ARGUMENT', 'FAILED_PRECONDITION'];

test('hostile files end as a text or a named refusal, and the service stays responsive and small', { timeout: TIMEOUT_MS }, async (t) => {
  await using folder = await tempDir();
  for (const [name, bytes] of Object.entries(HOSTILE_FILES)) writeFileSync(join(folder.path, name), bytes);
  const program = join(import.meta.dirname, 'hostile-calls.fixture.ts');
  await using service = await startProcess([process.execPath, program, folder.path], {
    ready: /^(\{"calls":.*\})\n/m,
    timeoutMs: TIMEOUT_MS,
  });
  const { calls, p99Ms, maxMs, grownMiB } = JSON.parse(service.ready[1] ?? '') as HostileReport;
  const slowest = calls.toSorted((a, b) => b.busyMs - a.busyMs).slice(0, 5);
  t.diagnostic(`event loop: p99 ${p99Ms.toFixed(1)} ms, max ${maxMs.toFixed(1)} ms`);
  for (const { file, method, busyMs } of slowest) t.diagnostic(`${busyMs.toFixed(1)} ms at most: ${method} of ${file}`);
  t.diagnostic(`memory: ${grownMiB.toFixed(0)} MiB more`);

  assert.equal(new Set(calls.map(({ file }) => file)).size, Object.keys(HOSTILE_FILES).length);
  for (const { file, method, code, message } of calls)
    assert.ok(code === undefined || NAMED_REFUSALS.includes(code), `${method} of ${file}: ${code} ${message}`);
  assert.ok(p99Ms < MAX_BUSY_MS, `the event loop was busy for ${p99Ms.toFixed(1)} ms`);
  assert.ok(grownMiB < MAX_GROWTH_MIB, `the service grew by ${grownMiB.toFixed(0)} MiB`);
});
