import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { tempDir } from '@switchyard/testkit';
import type { Unit } from './plan.ts';
import type { TestEvent } from './test-event.ts';

const REPORTER = join(import.meta.dirname, 'event-reporter.ts');
/** A test in a busy cluster takes minutes; any other test that takes longer than this hangs. */
const TEST_TIMEOUT_MS = { shared: 60_000, own: 240_000, cluster: 600_000, alone: 600_000 };
/** Limit of a process. Tests may be over while a server or a loop keeps the process alive. */
const UNIT_TIMEOUT_MS = { shared: 480_000, own: 900_000, cluster: 900_000, alone: 900_000 };

/** Test processes that are killed when the runner exits. */
const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

export interface UnitResult {
  unit: Unit;
  passed: boolean;
  /** Exit code of the process, or the signal that ended it. */
  exit: number | NodeJS.Signals;
  events: readonly TestEvent[];
  /** Everything the process wrote, with the spec report at its end. */
  output: string;
  durationMs: number;
}

export interface RunUnitOptions {
  env: Readonly<Record<string, string>>;
  testTimeoutMs?: number;
  unitTimeoutMs?: number;
}

/** Runs the files of a unit in one process. A process that outlives its limit is killed and counts as failed. */
export async function runUnit(unit: Unit, options: RunUnitOptions): Promise<UnitResult> {
  const { env, testTimeoutMs = TEST_TIMEOUT_MS[unit.class], unitTimeoutMs = UNIT_TIMEOUT_MS[unit.class] } = options;
  await using reports = await tempDir();
  const report = join(reports.path, 'events');
  const since = performance.now();
  // A test runner inside a test runner would run no tests.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
  const child = spawn(process.execPath, nodeArguments(unit, report, testTimeoutMs), {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const overdue = setTimeout(() => {
    output += `\nThe process ran for more than ${unitTimeoutMs / 1000} s and was killed. A test, a timer or an open connection keeps it alive.\n`;
    child.kill('SIGKILL');
  }, unitTimeoutMs);
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  clearTimeout(overdue);
  running.delete(child);
  const events = readEvents(report);
  const passed = code === 0 && events.length > 0 && events.every(({ outcome }) => outcome !== 'failed');
  if (code === 0 && events.length === 0) output += '\nThe process ran no test.\n';
  return { unit, passed, exit: code ?? signal ?? 0, events, output, durationMs: performance.now() - since };
}

function nodeArguments({ files }: Unit, report: string, testTimeoutMs: number): string[] {
  const flags = [
    '--disable-warning=ExperimentalWarning',
    `--test-timeout=${testTimeoutMs}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${REPORTER}`,
    `--test-reporter-destination=${report}`,
  ];
  return files.length === 1 ? [...flags, ...files] : [...flags, '--test', '--test-isolation=none', ...files];
}

function readEvents(report: string): TestEvent[] {
  let text = '';
  try {
    text = readFileSync(report, 'utf8');
  } catch {
    // The process ended before its reporter opened the file.
  }
  return text.split('\n').flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as TestEvent] : []));
}

/** Durations by file. The only file of a process takes all of its time; the files of a batch share what no test took. */
export function fileDurations({ unit, events, durationMs }: UnitResult): Map<string, number> {
  const [first = '', ...others] = unit.files;
  if (others.length === 0) return new Map([[first, durationMs]]);
  const byFile = new Map<string, number>(unit.files.map((file) => [file, 0]));
  let known = 0;
  for (const event of events) {
    const file = relative(process.cwd(), event.file);
    const ms = byFile.get(file);
    if (event.nesting > 0 || ms === undefined) continue;
    known += event.durationMs;
    byFile.set(file, ms + event.durationMs);
  }
  const rest = Math.max(0, durationMs - known) / unit.files.length;
  return new Map([...byFile].map(([file, ms]) => [file, ms + rest]));
}
