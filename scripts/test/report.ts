import { fileDurations, type UnitResult } from './run-unit.ts';

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  todo: number;
}

const SLOWEST = 10;
const FAILING = '✖ failing tests:';

/** Counts tests; suites are not counted. */
export function countTests(results: readonly UnitResult[]): Counts {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0, todo: 0 };
  for (const { events } of results) for (const { kind, outcome } of events) if (kind === 'test') counts[outcome] += 1;
  return counts;
}

/** One line for a unit that ended. */
export function progressLine(result: UnitResult, done: number, total: number): string {
  const { unit, passed, durationMs } = result;
  const [first = ''] = unit.files;
  const name = unit.files.length === 1 ? first : `${unit.files.length} files of ${first.split('/').slice(0, 2).join('/')}`;
  const tests = countTests([result]);
  const ran = tests.passed + tests.failed;
  return `${passed ? '✔' : '✖'} ${String(done).padStart(String(total).length)}/${total} ${name} (${ran} tests, ${seconds(durationMs)})`;
}

/** Returns the failing tests of a unit in full, or its whole output when no test failed. */
export function failureText({ unit, output }: UnitResult): string {
  const at = output.lastIndexOf(FAILING);
  return [`✖ ${unit.files.join(' ')}`, (at < 0 ? output : output.slice(at + FAILING.length)).trim(), ''].join('\n');
}

/** The slowest files first. */
export function slowestFiles(results: readonly UnitResult[]): [file: string, ms: number][] {
  return results.flatMap((result) => [...fileDurations(result)]).toSorted(([, a], [, b]) => b - a);
}

/** Names the processes that failed, and how each ended: a process can die after its last test passed. */
function failedUnits(results: readonly UnitResult[]): string[] {
  return results
    .filter(({ passed }) => !passed)
    .map(({ unit, exit, events }) => {
      const failed = events.filter(({ outcome }) => outcome === 'failed').length;
      return `✖ ${unit.files.join(' ')}: ${failed} failed, the process ended with ${typeof exit === 'number' ? `code ${exit}` : exit}`;
    });
}

/** The end of a run: output of failed processes, slowest files, failed processes, counts. */
export function summary(results: readonly UnitResult[], totalMs: number): string {
  const { passed, failed, skipped, todo } = countTests(results);
  const files = results.reduce((sum, { unit }) => sum + unit.files.length, 0);
  const slowest = slowestFiles(results).slice(0, SLOWEST);
  return [
    ...results.filter((result) => !result.passed).map((result) => `\n${failureText(result)}`),
    '',
    'Slowest files:',
    ...slowest.map(([file, ms]) => `  ${seconds(ms).padStart(8)}  ${file}`),
    '',
    ...failedUnits(results),
    `${passed + failed + skipped + todo} tests in ${files} files: ${passed} passed, ${failed} failed, ${skipped} skipped, ${todo} todo. ${seconds(totalMs)} in ${results.length} processes.`,
  ].join('\n');
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
