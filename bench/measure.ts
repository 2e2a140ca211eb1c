import type { LoadResult } from './load-plan.ts';
import type { Load } from './load-process.ts';
import { cases, type Group, type Metric, type Row } from './rows.ts';
import { pairedDifferences, pairedRatios, type Target } from './statistics.ts';
import { routeOf, type Subject } from './subject.ts';
import type { SubjectName } from './subject-name.ts';

const WARM_MS = 400;
/**
 * A fresh process measures its compiler: until it was asked so often, a request of ours costs twice to five times what it costs
 * afterwards. Calls are counted and not seconds, as the optimiser does: the faster one would be the warmer one.
 */
export const WARM_REQUESTS = 20_000;
/** How many each has answered in its life. */
const answered = new WeakMap<Subject, number>();

export interface Measured extends LoadResult {
  /** Seconds of processor time of the edge alone. */
  edgeCpu: number;
}

/** One line of the table. */
export interface Outcome {
  row: number;
  ours: 'nats' | 'embedded';
  what: string;
  /** One for each round. */
  values: number[];
  /** `x` is a ratio. */
  unit: 'x' | '%' | '/s' | 's' | 'ms' | 'KiB' | 'MiB';
  target: Target;
}

/** What each subject did, round by round, over all starts. */
export type Rounds = Map<SubjectName, Measured[]>;

export interface MeasureOptions {
  load: Load;
  rounds: number;
  seconds: number;
  /** As in a plan. */
  beside: readonly number[];
  /** Called before each measurement, because a long run without a word looks dead. */
  onProgress: (what: string) => void;
}

/**
 * Adds to `results` the rounds of one start: one subject after another, never two at once; every second round in reverse order,
 * so that no place in the order is an advantage.
 */
export async function measureGroup(
  { of, connections, perSecond }: Group,
  subjects: readonly Subject[],
  results: Rounds,
  options: MeasureOptions,
): Promise<void> {
  const { load, rounds, seconds, beside, onProgress } = options;
  for (const { name } of subjects) if (!results.has(name)) results.set(name, []);
  for (let round = 0; round < rounds; round++) {
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      onProgress(`${cases[of].what}, ${paceOf({ connections, perSecond })}, round ${round + 1} of ${rounds}: ${subject.name}`);
      const before = answered.get(subject) ?? 0;
      const warming = { warmMs: WARM_MS, warmRequests: WARM_REQUESTS - before };
      const result = await load.measure({
        ...routeOf(subject, cases[of]),
        ...warming,
        connections,
        perSecond,
        ms: seconds * 1_000,
        pids: subject.pids,
        beside: beside.filter((pid) => !subject.pids.includes(pid)),
      });
      answered.set(subject, before + result.warmed + result.requests);
      results.get(subject.name)?.push({ ...result, edgeCpu: result.cpu[subject.edge.pid] ?? Number.NaN });
    }
  }
}

/** In units that fit a table: requests a second, or microseconds; what is added to a baseline, in milliseconds. */
const READERS: Readonly<Record<Metric, (result: Measured) => number>> = {
  rate: ({ requests, seconds }) => requests / seconds,
  p50: ({ p50Ms }) => p50Ms * 1_000,
  p99: ({ p99Ms }) => p99Ms * 1_000,
  cpu: ({ cpu, requests }) => (Object.values(cpu).reduce((sum, one) => sum + one, 0) / requests) * 1e6,
  'edge-cpu': ({ edgeCpu, requests }) => (edgeCpu / requests) * 1e6,
  'added-first': ({ firstMs }) => firstMs,
};

export function metricOf(metric: Metric, result: Measured): number {
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

/** How much is asked. */
export function paceOf({ connections, perSecond }: Pick<Group, 'connections' | 'perSecond'>): string {
  return perSecond === undefined ? `c=${connections}` : `${perSecond} a second`;
}

/** A row's ratio for each transport of ours. Most targets are set for the product as a cluster; what the edge answers alone is the same in both. */
export function outcomesOf({ row, of, baseline, connections, perSecond, metric, target, embedded = {} }: Row, rounds: Rounds): Outcome[] {
  const series = (name: SubjectName): number[] => (rounds.get(name) ?? []).map((result) => metricOf(metric, result));
  const transports = metric === 'edge-cpu' ? (['nats'] as const) : (['nats', 'embedded'] as const);
  const added = metric === 'added-first';
  return transports.map((ours) => ({
    row,
    ours,
    what: `${cases[of].what} ${added ? '−' : '÷'} ${baseline}, ${METRICS[metric]}, ${paceOf({ connections, perSecond })}`,
    values: (added ? pairedDifferences : pairedRatios)(series(ours), series(baseline)),
    unit: added ? 'ms' : 'x',
    target: ours === 'nats' || of === 'edge-answer' ? target : embedded,
  }));
}
