import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { findRedisServer } from '@switchyard/testkit';
import { classifyFile, isSameInQuick, sharesCluster } from './classify-file.ts';
import { openDurations } from './durations.ts';
import { findFiles } from './find-files.ts';
import { parseOptions } from './options.ts';
import { runInSlots } from './pool.ts';
import { planUnits, type Unit } from './plan.ts';
import { progressLine, slowestFiles, summary } from './report.ts';
import { fileDurations, runUnit, type UnitResult } from './run-unit.ts';
import { startServers } from './servers.ts';

// The test runner: node scripts/test/main.ts [quick|full|docker] [--shard=1/4] [--without-quick] [pattern…]

const MIN_FILES = 60;
/** Limit of a file in the quick suite on a processor of its own. Slower files are named *.full.test.ts. */
const MAX_QUICK_FILE_MS = 20_000;
/** A third of a test's time is waiting, so one process more than there are processors keeps them busy. */
const SLOTS = availableParallelism() + 1;
/** The same limit while the slots and the cluster of the run share the processors: 40 s with three slots on two. */
const MAX_SHARED_FILE_MS = (MAX_QUICK_FILE_MS * (SLOTS + 1)) / availableParallelism();
/** A quick run that takes longer had not the whole machine, so the times of its files say little and fail nothing. */
const MAX_QUICK_RUN_MS = 600_000;

const { suite, patterns, shard, withoutQuick } = parseOptions(process.argv.slice(2));
const files = findFiles(suite, patterns).filter((file) => !withoutQuick || !isSameInQuick(file));
if (files.length < (patterns.length > 0 || suite === 'docker' ? 1 : MIN_FILES)) {
  console.error(`Only ${files.length} test files match ${suite} ${patterns.join(' ')}. A run that tests little must not pass.`);
  process.exit(1);
}

const since = performance.now();
const durations = openDurations(join('node_modules', '.cache', 'test-durations.json'), suite);
const clusters = suite !== 'quick' && process.env['SWITCHYARD_TEST_TARGET'] !== 'embedded';
const units = planUnits(files, { classify: (file) => classifyFile(file, { clusters }), getDuration: (file) => durations.get(file), shard });
await findRedisServer().catch((error: unknown) => console.error(String(error)));
const onCluster = new Set(clusters || suite === 'quick' ? files.filter((file) => sharesCluster(file)) : []);
const needsCluster = ({ files }: Unit): boolean => files.some((file) => onCluster.has(file));
// Units that wait for the shared cluster come last: it starts while the others run.
const ordered = [...units.filter((unit) => !needsCluster(unit)), ...units.filter(needsCluster)];
await using servers = await startServers(ordered.length, { cluster: ordered.some(needsCluster) });
const shared = {
  SWITCHYARD_TEST_SUITE: suite,
  // All processes load the same modules: each is stripped of its types and compiled once.
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(process.cwd(), 'node_modules/.cache/node'),
};

const results: UnitResult[] = [];
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    console.log(`${summary(results, performance.now() - since)}\nInterrupted by ${signal}.`);
    process.exit(1);
  });
await runInSlots([...ordered.entries()], SLOTS, {
  getSlots: ([, { class: fileClass }]) => (fileClass === 'alone' ? SLOTS : fileClass === 'cluster' ? 2 : 1),
  async run([at, unit]) {
    const result = await servers.getEnv(at, { cluster: needsCluster(unit) }).then(
      (env) => runUnit(unit, { env: { ...shared, ...env } }),
      (error: unknown): UnitResult => ({ unit, passed: false, exit: 1, events: [], output: String(error), durationMs: 0 }),
    );
    results.push(result);
    console.log(progressLine(result, results.length, ordered.length));
    if (result.passed) for (const [file, ms] of fileDurations(result)) durations.set(file, ms);
  },
});
durations.save(existsSync);

const durationMs = performance.now() - since;
console.log(summary(results, durationMs));
const tooSlow = suite === 'quick' ? slowestFiles(results).filter(([, ms]) => ms > MAX_SHARED_FILE_MS) : [];
for (const [file, ms] of tooSlow)
  console.error(
    `${file} took ${Math.round(ms / 1000)} s; the limit of make test is ${MAX_SHARED_FILE_MS / 1000} s here (${MAX_QUICK_FILE_MS / 1000} s on a free processor). Move slow tests to a *.full.test.ts file.`,
  );
if (results.some(({ passed }) => !passed) || (tooSlow.length > 0 && durationMs <= MAX_QUICK_RUN_MS)) process.exitCode = 1;
