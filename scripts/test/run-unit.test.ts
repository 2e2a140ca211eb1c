import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import type { Unit } from './plan.ts';
import { countTests, failureText, progressLine, summary } from './report.ts';
import { runUnit, type UnitResult } from './run-unit.ts';

const HEAD = "import { test, describe } from 'node:test';\n";

async function run(sources: Record<string, string>, unitTimeoutMs = 30_000): Promise<UnitResult> {
  await using dir = await tempDir();
  const files = Object.entries(sources).map(([name, source]) => {
    const file = join(dir.path, `${name}.test.ts`);
    writeFileSync(file, HEAD + source);
    return file;
  });
  const unit: Unit = { files, class: files.length > 1 ? 'shared' : 'own', expectedMs: 0 };
  return await runUnit(unit, { env: { MARK: 'of the run' }, testTimeoutMs: 10_000, unitTimeoutMs });
}

test('runUnit reports each test of a file, and passes the environment on', async () => {
  const result = await run({
    a: "describe('suite', () => test('sees', (t) => t.assert.equal(process.env.MARK, 'of the run')));\ntest.skip('later');",
  });
  assert.equal(result.passed, true, result.output);
  assert.deepEqual(countTests([result]), { passed: 1, failed: 0, skipped: 1, todo: 0 });
});

test('runUnit runs several files in one process, and prints only what failed', async () => {
  const result = await run({
    a: "test('passes', () => { globalThis.seen = 1; });",
    b: "test('fails', (t) => t.assert.equal(globalThis.seen, 2));",
  });
  assert.equal(result.passed, false);
  assert.deepEqual(countTests([result]), { passed: 1, failed: 1, skipped: 0, todo: 0 });
  const text = failureText(result);
  assert.match(text, /b\.test\.ts:2[^]*✖ fails[^]*1 == 2/);
  assert.doesNotMatch(text, /✔ passes/);
  assert.match(progressLine(result, 3, 12), /^✖ {2}3\/12 2 files of .* \(2 tests, \d+\.\d s\)$/);
  assert.match(summary([result], 1_234), /2 tests in 2 files: 1 passed, 1 failed, 0 skipped, 0 todo\. 1\.2 s in 1 processes\.$/);
});

test('runUnit kills a process that outlives its limit, and counts it as failed', async () => {
  const result = await run({ spins: "test('over at once', () => { void (async () => { for (;;) await undefined; })(); });" }, 1_500);
  assert.equal(result.passed, false);
  assert.match(failureText(result), /ran for more than 1\.5 s and was killed/);
});

test('runUnit fails a process that dies after its tests passed, and summary names the file and the signal', async () => {
  const result = await run({ aborts: "test('passes', () => { process.once('exit', () => process.abort()); });" });
  assert.equal(result.passed, false);
  assert.match(summary([result], 1_000), /✖ \S+aborts\.test\.ts: 0 failed, the process ended with SIGABRT\n1 tests in/);
});

test('runUnit fails a file without tests, and a file that cannot be loaded', async () => {
  assert.equal((await run({ empty: '' })).passed, false);
  const broken = await run({ broken: "import './nowhere.ts';" });
  assert.equal(broken.passed, false);
  assert.match(failureText(broken), /nowhere\.ts/);
});
