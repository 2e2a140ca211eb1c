import type { LoadResult } from './load-plan.ts';
import type { Load } from './load-process.ts';
import { cases, type Group, type Metric, type Row } from './rows.ts';
import { pairedDifferences, pairedRatios, type Target } from './statistics.ts';
import { buildRoute, type Subject } from './subject.ts';
import type { SubjectName } from './subject-name.ts';

const WARM_MS = 400;
/**
 * Warm-up requests per process. Until then the JIT compiler makes a request two to five times as expensive. Requests are counted
 * instead of seconds, so that a fast subject is not warmer than a slow one.
 */
export const WARM_REQUESTS = 20_000;
/** Responses of each subject since its start. */
const answered = new WeakMap<Subject, number>();

export interface Measured extends LoadResult {
  /** CPU seconds of the gateway process alone. */
  edgeCpu: number;
}

/** One line of the result table. */
export interface Outcome {
  row: number;
  ours: 'nats' | 'embedded';
  what: string;
  /** One value per round. */
  values: number[];
  /** `x` stands for a ratio. */
  unit: 'x' | '%' | '/s' | 's' | 'ms' | 'KiB' | 'MiB';
  target: Target;
}

/** Results of each subject by round, over all starts. */
export type Rounds = Map<SubjectName, Measured[]>;

export interface MeasureOptions {
  load: Load;
  rounds: number;
  seconds: number;
  /** Same as in `LoadPlan`. */
  excludedPids: readonly number[];
  /** Called before each measurement to show progress. */
  onProgress: (description: string) => void;
}

/**
 * Adds the rounds of one start to `results`. Subjects are measured one at a time, in reverse order in every second round, so that the
 * position in the order gives no advantage.
 */
export async function measureGroup(
  { of, connections, perSecond }: Group,
  subjects: readonly Subject[],
  results: Rounds,
  options: MeasureOptions,
): Promise<void> {
  const { load, rounds, seconds, excludedPids, onProgress } = options;
  for (const { name } of subjects) if (!results.has(name)) results.set(name, []);
  for (let round = 0; round < rounds; round++) {
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      onProgress(`${cases[of].what}, ${describeLoad({ connections, perSecond })}, round ${round + 1} of ${rounds}: ${subject.name}`);
      const before = answered.get(subject) ?? 0;
      const warming = { warmMs: WARM_MS, warmRequests: WARM_REQUESTS - before };
      const result = await load.measure({
        ...buildRoute(subject, cases[of]),
        ...warming,
        connections,
        perSecond,
        ms: seconds * 1_000,
        pids: subject.pids,
        excludedPids: excludedPids.filter((pid) => !subject.pids.includes(pid)),
      });
      answered.set(subject, before + result.warmed + result.requests);
      results.get(subject.name)?.push({ ...result, edgeCpu: result.cpu[subject.edge.pid] ?? Number.NaN });
    }
  }
}

/** Values in the units of the table: requests per second, microseconds, or milliseconds added to a baseline. */
const READERS: Readonly<Record<Metric, (result: Measured) => number>> = {
  rate: ({ requests, seconds }) => requests / seconds,
  p50: ({ p50Ms }) => p50Ms * 1_000,
  p99: ({ p99Ms }) => p99Ms * 1_000,
  cpu: ({ cpu, requests }) => (Object.values(cpu).reduce((sum, one) => sum + one, 0) / requests) * 1e6,
  'edge-cpu': ({ edgeCpu, requests }) => (edgeCpu / requests) * 1e6,
  'added-first': ({ firstMs }) => firstMs,
};

export function readMetric(metric: Metric, result: Measured): number {
  return READERS[metric](result);
}

const METRICS: Readonly<Record<Metric, string>> = {
  rate: 'req/s',
  p50: 'p50',
  p99: 'p99',
  cpu: 'CPU, all processes',
  'edge-cpu': 'CPU, edge',
  'added-first': 'first byte',
};

/** Describes the load: connections, and requests per second of an open loop. */
export function describeLoad({ connections, perSecond }: Pick<Group, 'connections' | 'perSecond'>): string {
  return perSecond === undefined ? `c=${connections}` : `${perSecond} a second`;
}

/** The ratios of a row for each profile of the product. Most targets apply to the cluster; requests answered by the gateway alone cost the same in both. */
export function computeOutcomes(
  { row, of, baseline, connections, perSecond, metric, target, embedded = {} }: Row,
  rounds: Rounds,
): Outcome[] {
  const series = (name: SubjectName): number[] => (rounds.get(name) ?? []).map((result) => readMetric(metric, result));
  const transports = metric === 'edge-cpu' ? (['nats'] as const) : (['nats', 'embedded'] as const);
  const added = metric === 'added-first';
  return transports.map((ours) => ({
    row,
    ours,
    what: `${cases[of].what} ${added ? '−' : '÷'} ${baseline}, ${METRICS[metric]}, ${describeLoad({ connections, perSecond })}`,
    values: (added ? pairedDifferences : pairedRatios)(series(ours), series(baseline)),
    unit: added ? 'ms' : 'x',
    target: ours === 'nats' || of === 'edge-answer' ? target : embedded,
  }));
}
