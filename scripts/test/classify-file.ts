import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { belongsTo } from './find-files.ts';

/**
 * How a test file runs: `shared` with others in one process, `own` in a process of its own, or `cluster` in a process of its own that
 * starts a dozen more and takes the place of two, or `alone` while no other file runs, because the file measures times.
 */
export type FileClass = 'shared' | 'own' | 'cluster' | 'alone';

/** Code that changes its process, measures it, or starts others: two such files cannot share a process. */
const OWN_PROCESS: readonly RegExp[] = [
  /node:(child_process|worker_threads|cluster|inspector|v8|vm|perf_hooks|async_hooks|diagnostics_channel)/,
  /@opentelemetry|\b(start|open)Telemetry\b|\bstartCollector\b/,
  /\bstart(NatsServer|Mongo|OwnMongo|MongoSet|RedisServer|Process|Server|Embedded|Product|Cluster)\b|\bfind(NatsServer|Mongo|RedisServer)\b|\bopenNats\b/,
  /\bmock\b/,
  /\bprocess\.(on|once|emit|exit|exitCode|chdir|abort|kill|stdout|stderr|memoryUsage|cpuUsage|hrtime|execArgv|argv|umask)\b/,
  /\bprocess\.env(\.\w+|\[[^\]]+\])\s*(\?\?)?=[^=]|delete process\.env|\bglobalThis\b|\bglobal\.gc\b|\bgc\(\)/,
  // Hooks outside of a suite are hooks of all files in the process.
  /^(before|after|beforeEach|afterEach)\(/m,
  // Tests that a helper declares are reported under the name of the helper.
  /\.contract\.ts'/,
  /^\/\/ own process:/m,
];

const ALONE = /^\/\/ alone: /m;

const CLUSTER = /\bonEachProfile\b|\bstartCluster\b|\bstartChaosCluster\b|\brunChaos\b|startProduct\('cluster'/;

/** Helpers of tests: what they start or change counts as if it stood in the test file. */
const HELPER = /^tests\/|\.(fixture|contract)\.ts$|(^|\/)(fixtures|testing)\//;

const SHARES_CLUSTER = /\bshareCluster: true\b/;

/** Whether suites of the file use the cluster that the test runner starts. */
export function sharesCluster(file: string, read = readText): boolean {
  return SHARES_CLUSTER.test(read(file) ?? '');
}

export interface ClassifyOptions {
  /** Reads a file by its path from the root of the repository. */
  read?: (file: string) => string | undefined;
  /** Whether suites on a cluster run. */
  clusters: boolean;
}

/** Decides from the text of a test file and of its helpers how the file runs. */
export function classifyFile(file: string, { read = readText, clusters }: ClassifyOptions): FileClass {
  const texts = [...collect(file, read).values()];
  if (ALONE.test(read(file) ?? '')) return 'alone';
  if (clusters && texts.some((text) => CLUSTER.test(text))) return 'cluster';
  return texts.some((text) => OWN_PROCESS.some((pattern) => pattern.test(text))) ? 'own' : 'shared';
}

/** A test that does more in `make test-full` than in `make test`. */
const READS_SUITE = /\bisQuick\b|\bSWITCHYARD_TEST_SUITE\b/;

/** Whether a file runs in `make test-full` as it does in `make test`: without a cluster, and with the same tests. */
export function isSameInQuick(file: string, read = readText): boolean {
  if (!belongsTo(file, 'quick')) return false;
  return ![...collect(file, read).values()].some((text) => CLUSTER.test(text) || READS_SUITE.test(text));
}

function collect(file: string, read: (file: string) => string | undefined, into = new Map<string, string>()): Map<string, string> {
  const text = read(file);
  if (text === undefined || into.has(file)) return into;
  into.set(file, text);
  for (const [, path = ''] of text.matchAll(/\bfrom '(\.{1,2}\/[^']+)'/g)) {
    const target = normalize(join(dirname(file), path));
    if (HELPER.test(target)) collect(target, read, into);
  }
  return into;
}

function readText(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
