import type { LoadResult } from './load-plan.ts';
import type { Load } from './load-process.ts';
import type { Outcome } from './report.ts';
import { cases, type Group, type Metric, type Row } from './rows.ts';
import { pairedRatios } from './statistics.ts';
import { callOf, targetOf, type Subject, type SubjectName } from './subject.ts';

const WARM_MS = 400;
/** The first round of a fresh process measures its compiler. */
const FIRST_WARM_MS = 1_500;

/** What one subject did, round by round. */
export type Rounds = Map<SubjectName, LoadResult[]>;

export interface MeasureOptions {
  load: Load;
  rounds: number;
  seconds: number;
  /** Called before each measurement, because a long run without a word looks dead. */
  onProgress: (what: string) => void;
}

/** One after another, never two at once; every second round in reverse order, so that no place in the order is an advantage. */
export async function measureGroup({ of, connections }: Group, subjects: readonly Subject[], options: MeasureOptions): Promise<Rounds> {
  const { load, rounds, seconds, onProgress } = options;
  const results: Rounds = new Map(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      onProgress(`${cases[of].what}, ${connections} connections, round ${round + 1} of ${rounds}: ${subject.name}`);
      const target = targetOf(subject, cases[of].kind);
      const warmMs = round === 0 ? FIRST_WARM_MS : WARM_MS;
      const plan = { ...target, body: callOf(cases[of].method), connections, warmMs, ms: seconds * 1_000, pids: subject.pids };
      results.get(subject.name)?.push(await load.measure(plan));
    }
  }
  return results;
}

/** In units that fit a table: requests a second, or microseconds. */
const READERS: Readonly<Record<Metric, (result: LoadResult, edgePid: number) => number>> = {
  rate: ({ requests, seconds }) => requests / seconds,
  p50: ({ p50Ms }) => p50Ms * 1_000,
  cpu: ({ cpu, requests }) => (Object.values(cpu).reduce((sum, one) => sum + one, 0) / requests) * 1e6,
  'edge-cpu': ({ cpu, requests }, edgePid) => ((cpu[edgePid] ?? Number.NaN) / requests) * 1e6,
};

export function metricOf(metric: Metric, result: LoadResult, edgePid: number): number {
  return READERS[metric](result, edgePid);
}

const METRICS: Readonly<Record<Metric, string>> = { rate: 'req/s', p50: 'p50', cpu: 'CPU, all processes', 'edge-cpu': 'CPU, edge' };

/** A row's ratio for each transport of ours. The targets are set for the product as a cluster; only what the edge answers alone is the same in both. */
export function outcomesOf({ row, of, stick, connections, metric, target }: Row, rounds: Rounds, subjects: readonly Subject[]): Outcome[] {
  const series = (name: SubjectName): number[] => {
    const pid = subjects.find((subject) => subject.name === name)?.edge.pid ?? -1;
    return (rounds.get(name) ?? []).map((result) => metricOf(metric, result, pid));
  };
  const transports = metric === 'edge-cpu' ? (['nats'] as const) : (['nats', 'embedded'] as const);
  return transports.map((ours) => ({
    row,
    ours,
    what: `${cases[of].what} ÷ ${stick}, ${METRICS[metric]}, c=${connections}`,
    values: pairedRatios(series(ours), series(stick)),
    unit: 'x',
    target: ours === 'nats' || of === 'edge-answer' ? target : {},
  }));
}
