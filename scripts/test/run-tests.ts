import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { findMongo, findNatsServer, findRedisServer, tempDir } from '@switchyard/testkit';
import { endOverdue } from './overdue-files.ts';

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

// Three tenths of the time of a test is waiting: for processes to start, for leases to run out, for servers that are away.
const runs = [
  { files: files.filter((file) => !LONG.test(file)), timeoutMs: 120_000, fileMs: 300_000, atOnce: availableParallelism() + 1 },
  { files: files.filter((file) => LONG.test(file)), timeoutMs: 600_000, fileMs: 600_000, atOnce: availableParallelism() },
];
// What has to be installed first is installed now, and not in the time of the first test that asks for it.
if (process.env['SWITCHYARD_TEST_NATS'] !== 'off')
  for (const failed of await Promise.allSettled([findNatsServer(), findMongo(), findRedisServer()]))
    if (failed.status === 'rejected') console.error(String(failed.reason));

/** So many files may fail once beside others and pass alone: a machine that was busy, or a test that is unsteady. More are a fault. */
const MOST_UNSTEADY = 2;

const root = process.cwd();
// Hundreds of processes load the same modules: each is stripped of its types and compiled once.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/node');
await using reports = await tempDir();

type Limits = Pick<(typeof runs)[number], 'timeoutMs' | 'fileMs' | 'atOnce'>;

/** Runs the files, and gives those of them that failed. */
async function run(together: readonly string[], { timeoutMs, fileMs, atOnce }: Limits): Promise<string[]> {
  const report = join(reports.path, 'failed');
  const reporters = ['spec', 'stdout', `${root}/scripts/test/failed-files.ts`, report];
  const flags = reporters.map((value, at) => `--test-reporter${at % 2 === 0 ? '' : '-destination'}=${value}`);
  flags.push('--test', `--test-concurrency=${atOnce}`, `--test-timeout=${timeoutMs}`, '--disable-warning=ExperimentalWarning');
  const tests = spawn(process.execPath, [...flags, ...together], { stdio: 'inherit' });
  using _overdue = endOverdue(tests, fileMs, (file) => console.error(`ENDED: ${file} ran for more than ${fileMs / 1000} s.`));
  const [code] = (await once(tests, 'exit')) as [number | null];
  if (code === 0) return [];
  const failed = readFileSync(report, 'utf8').split('\n').filter(Boolean);
  // A suite that another module has made is named after that one; what failed in it is named after its own file.
  const named = failed.map((path) => relative(root, path)).filter((file) => together.includes(file));
  return named.length === 0 ? [...together] : named;
}

const unsteady: string[] = [];
for (const { files: together, ...how } of runs) {
  if (together.length === 0) continue;
  const failed = await run(together, how);
  const again = failed.length <= MOST_UNSTEADY ? failed : [];
  if (again.length > 0) console.log(`Failed, and run once more by themselves: ${again.join(' ')}`);
  const wrong = again.length === 0 ? failed : await run(again, how);
  unsteady.push(...failed.filter((file) => !wrong.includes(file)));
  if (wrong.length > 0) process.exitCode = 1;
}
for (const file of unsteady)
  console.log(`UNSTEADY: ${file} failed beside others and passed alone. Its failure stands above: find out why.`);
if (unsteady.length > MOST_UNSTEADY) process.exitCode = 1;
