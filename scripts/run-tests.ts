import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { findMongo, findNatsServer, findRedisServer } from '@switchyard/testkit';

const LEAST_FILES = 60;

const patterns = process.argv.slice(2);
const narrowed = patterns.some((pattern) => !pattern.startsWith('{'));
const files = patterns
  .flatMap((pattern) => globSync(pattern, { exclude: (path) => path.includes('node_modules') || path.includes('fixtures') }))
  .toSorted();
if (files.length < (narrowed ? 1 : LEAST_FILES)) {
  console.error(`only ${files.length} test files match ${patterns.join(' ')}: a run that tests little must not pass`);
  process.exit(1);
}

/** They run the checks of the whole repository on a copy of it, or a dozen processes: after the others, for as long as that takes. */
const LONG = /^tests\/(adding|chaos|cluster)\//;

const runs = [
  { files: files.filter((file) => !LONG.test(file)), timeoutMs: 120_000 },
  { files: files.filter((file) => LONG.test(file)), timeoutMs: 600_000 },
];
// What has to be installed first is installed now, and not in the time of the first test that asks for it.
if (process.env['SWITCHYARD_TEST_NATS'] !== 'off')
  for (const failed of await Promise.allSettled([findNatsServer(), findMongo(), findRedisServer()]))
    if (failed.status === 'rejected') console.error(String(failed.reason));

for (const { files: together, timeoutMs } of runs) {
  if (together.length === 0) continue;
  const flags = ['--test', '--test-concurrency=2', `--test-timeout=${timeoutMs}`, '--disable-warning=ExperimentalWarning'];
  const tests = spawn(process.execPath, [...flags, ...together], { stdio: 'inherit' });
  const [code] = (await once(tests, 'exit')) as [number | null];
  if (code !== 0) process.exitCode = code ?? 1;
}
