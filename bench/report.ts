import { readMetric, describeLoad, type Measured, type Outcome, type Rounds } from './measure.ts';
import { cases, type Group } from './rows.ts';
import { quantile, reaches, summarize, type Target } from './statistics.ts';

/** Absolute figures of one subject. They are valid for this machine and this run only. */
export interface Absolute {
  what: string;
  pace: string;
  subject: string;
  requestsPerSecond: number;
  p50Us: number;
  p99Us: number;
  firstUs: number;
  cpuUs: number;
  edgeCpuUs: number;
  failures: number;
  /** Cores used by foreign processes during the measurement. */
  foreignCores: number;
}

export function computeAbsolutes({ of, ...group }: Group, rounds: Rounds): Absolute[] {
  return [...rounds].map(([name, results]) => {
    const middle = (read: (result: Measured) => number): number => Math.round(quantile(results.map(read), 0.5));
    return {
      what: cases[of].what,
      pace: describeLoad(group),
      subject: name,
      requestsPerSecond: middle((result) => readMetric('rate', result)),
      p50Us: middle((result) => readMetric('p50', result)),
      p99Us: middle(({ p99Ms }) => p99Ms * 1_000),
      firstUs: middle(({ firstMs }) => firstMs * 1_000),
      cpuUs: middle((result) => readMetric('cpu', result)),
      edgeCpuUs: middle((result) => readMetric('edge-cpu', result)),
      failures: results.reduce((sum, { failures }) => sum + failures, 0),
      foreignCores: quantile(
        results.map(({ foreignCores }) => foreignCores),
        0.5,
      ),
    };
  });
}

export function outcomeTable(outcomes: readonly Outcome[]): string {
  const lines = outcomes.map(({ row, ours, what, values, unit, target }) => {
    const { median, min, max } = summarize(values);
    const suffix = unit === 'x' ? '' : ` ${unit}`;
    return [String(row), ours, what, show(median) + suffix, `${show(min)}–${show(max)}`, describe(target, suffix), verdict(median, target)];
  });
  return table(['row', 'ours', 'what', 'median', 'min–max', 'target', 'reached'], lines);
}

export function absoluteTable(absolutes: readonly Absolute[]): string {
  const lines = absolutes.map((one) => [
    one.what,
    one.pace,
    one.subject,
    ...[one.requestsPerSecond, one.p50Us, one.p99Us, one.firstUs, one.cpuUs, one.edgeCpuUs, one.failures].map(String),
    one.foreignCores.toFixed(2),
  ]);
  return table(['what', 'pace', 'subject', 'req/s', 'p50 µs', 'p99 µs', 'first µs', 'CPU µs', 'edge CPU µs', 'failed', 'others'], lines);
}

function verdict(median: number, target: Target): string {
  if (target.least === undefined && target.most === undefined) return '–';
  return reaches(median, target) ? 'yes' : 'no';
}

function describe({ least, most }: Target, suffix: string): string {
  if (least !== undefined) return `≥ ${least}${suffix}`;
  return most === undefined ? '–' : `≤ ${most}${suffix}`;
}

function show(value: number): string {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

/** Formats a Markdown table. */
function table(head: readonly string[], lines: readonly string[][]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...lines.map((line) => (line[column] ?? '').length)));
  const print = (cells: readonly string[]): string => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [print(head), print(widths.map((width) => '-'.repeat(width))), ...lines.map(print)].join('\n');
}
