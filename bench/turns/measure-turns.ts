import type { Load } from '../load-process.ts';
import { startLoad } from '../load-process.ts';
import { readMetric, WARM_REQUESTS, type Measured, type Outcome } from '../measure.ts';
import { pairedRatios, quantile, type Target } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import { startTurnSubject, turnRoute, type TurnSubject } from './turn-subjects.ts';

const WARM_MS = 400;

/** Subjects and client counts. They are measured one at a time, in reverse order in every second round. */
interface Contest {
  rows: readonly number[];
  connections: number;
  subjects: readonly TurnSubject[];
}

const CONTESTS: readonly Contest[] = [
  { rows: [17], connections: 1, subjects: ['embedded-32', 'restate', 'bare-store'] },
  { rows: [17], connections: 32, subjects: ['embedded-32', 'restate', 'bare-store', 'nats-32'] },
  { rows: [17], connections: 128, subjects: ['embedded-128', 'restate', 'bare-store'] },
  { rows: [17], connections: 4, subjects: ['embedded-shipped'] },
  { rows: [17], connections: 128, subjects: ['embedded-shipped'] },
  { rows: [18], connections: 32, subjects: ['embedded-upstream'] },
];

/** Turns of each subject since its start. */
const answered = new WeakMap<Subject, number>();

type Read = (result: Measured) => number;

const rate: Read = (result) => readMetric('rate', result);
const p50: Read = ({ p50Ms }) => p50Ms;
const cpu: Read = (result) => readMetric('cpu', result) / 1_000;
const tail: Read = ({ p99Ms, p50Ms }) => p99Ms / p50Ms;

/** A measurement of one subject, or the ratio of two subjects in the same round. */
interface Claim {
  row: number;
  what: string;
  of: readonly [subject: TurnSubject, connections: number];
  by?: readonly [subject: TurnSubject, connections: number];
  read: Read;
  unit: Outcome['unit'];
  target: Target;
}

const turns = 'durable turns';
const CLAIMS: readonly Claim[] = [
  { row: 17, what: `${turns}, c=32`, of: ['embedded-32', 32], read: rate, unit: '/s', target: { least: 1_500 } },
  { row: 17, what: `${turns}, c=128`, of: ['embedded-128', 128], read: rate, unit: '/s', target: { least: 1_700 } },
  { row: 17, what: `${turns}, alone, p50`, of: ['embedded-32', 1], read: p50, unit: 'ms', target: { most: 2.5 } },
  { row: 17, what: `${turns}, CPU, c=32`, of: ['embedded-32', 32], read: cpu, unit: 'ms', target: { most: 0.6 } },
  {
    row: 17,
    what: `${turns} ÷ restate, c=32`,
    of: ['embedded-32', 32],
    by: ['restate', 32],
    read: rate,
    unit: 'x',
    target: { least: 1.75 },
  },
  {
    row: 17,
    what: `${turns} ÷ restate, c=128`,
    of: ['embedded-128', 128],
    by: ['restate', 128],
    read: rate,
    unit: 'x',
    target: { least: 1.3 },
  },
  { row: 17, what: `${turns} ÷ restate, CPU, c=32`, of: ['embedded-32', 32], by: ['restate', 32], read: cpu, unit: 'x', target: {} },
  { row: 17, what: `${turns} ÷ bare-store, c=32`, of: ['embedded-32', 32], by: ['bare-store', 32], read: rate, unit: 'x', target: {} },
  { row: 17, what: `${turns} ÷ bare-store, c=128`, of: ['embedded-128', 128], by: ['bare-store', 128], read: rate, unit: 'x', target: {} },
  {
    row: 17,
    what: `${turns} as shipped, c=128 ÷ c=4`,
    of: ['embedded-shipped', 128],
    by: ['embedded-shipped', 4],
    read: rate,
    unit: 'x',
    target: { least: 1 },
  },
  { row: 17, what: `${turns} as shipped, c=128, p99 ÷ p50`, of: ['embedded-shipped', 128], read: tail, unit: 'x', target: { most: 2.5 } },
  { row: 17, what: `${turns}, c=32`, of: ['nats-32', 32], read: rate, unit: '/s', target: { least: 400 } },
  {
    row: 18,
    what: 'agent.execute through the upstream, c=32',
    of: ['embedded-upstream', 32],
    read: rate,
    unit: '/s',
    target: { least: 600 },
  },
  { row: 18, what: 'the same, CPU', of: ['embedded-upstream', 32], read: cpu, unit: 'ms', target: { most: 1.2 } },
];

export interface TurnOptions {
  rows: ReadonlySet<number>;
  starts: number;
  rounds: number;
  seconds: number;
}

/** Results by subject and number of connections, over all starts. */
type Results = Map<string, Measured[]>;

/** Rows 17 and 18: durable turns, which are flushed to disk before they are accepted and before they are answered. */
export async function measureTurns(
  options: TurnOptions,
  onProgress: (description: string) => void,
): Promise<{ outcomes: Outcome[]; notes: string[] }> {
  const results: Results = new Map();
  const contests = CONTESTS.filter(({ rows }) => rows.some((row) => options.rows.has(row)));
  for (let start = 1; start <= options.starts; start++) {
    onProgress(`start ${start}: starting what runs turns`);
    await using stack = new AsyncDisposableStack();
    const subjects = new Map<TurnSubject, Subject>();
    for (const name of new Set(contests.flatMap((contest) => contest.subjects))) subjects.set(name, await startTurnSubject(name, stack));
    using load = await startLoad();
    for (const contest of contests)
      await measureContest({ contest, subjects, load, results }, options, (what) => onProgress(`start ${start}: ${what}`));
  }
  const claims = CLAIMS.filter(({ row }) => options.rows.has(row));
  return { outcomes: claims.map((claim) => computeOutcome(claim, results)), notes: [absolutes(results)] };
}

interface ContestOptions {
  contest: Contest;
  subjects: ReadonlyMap<TurnSubject, Subject>;
  load: Load;
  results: Results;
}

async function measureContest(
  { contest, subjects, load, results }: ContestOptions,
  { rounds, seconds }: TurnOptions,
  onProgress: (what: string) => void,
): Promise<void> {
  const { connections } = contest;
  for (let round = 0; round < rounds; round++)
    for (const name of round % 2 === 0 ? contest.subjects : contest.subjects.toReversed()) {
      const subject = subjects.get(name);
      if (!subject) continue;
      onProgress(`turns, ${connections} connections, round ${round + 1} of ${rounds}: ${name}`);
      const before = answered.get(subject) ?? 0;
      const warming = { warmMs: WARM_MS, warmRequests: WARM_REQUESTS - before };
      const result = await load.measure({ ...turnRoute(subject), ...warming, connections, ms: seconds * 1_000, pids: subject.pids });
      answered.set(subject, before + result.warmed + result.requests);
      const key = resultKey([name, connections]);
      results.set(key, [...(results.get(key) ?? []), { ...result, edgeCpu: result.cpu[subject.edge.pid] ?? Number.NaN }]);
    }
}

function resultKey([subject, connections]: Claim['of']): string {
  return `${subject}, c=${connections}`;
}

function computeOutcome({ row, what, of, by, read, unit, target }: Claim, results: Results): Outcome {
  const series = (which: Claim['of']): number[] => (results.get(resultKey(which)) ?? []).map(read);
  const ours = of[0].startsWith('nats') ? ('nats' as const) : ('embedded' as const);
  return { row, ours, what, values: by ? pairedRatios(series(of), series(by)) : series(of), unit, target };
}

/** Formats the absolute figures, which are valid for this machine and this run only. */
function absolutes(results: Results): string {
  const lines = [...results].map(([name, measured]) => {
    const middle = (value: Read): number => quantile(measured.map(value), 0.5);
    const foreignCores = middle((one) => one.foreignCores);
    const failed = measured.reduce((sum, { failures }) => sum + failures, 0);
    return `- ${name}: ${failed === 0 ? '' : `${failed} failed, `}${middle(rate).toFixed(0)}/s, p50 ${middle(p50).toFixed(2)} ms, p99 ${middle(({ p99Ms }) => p99Ms).toFixed(1)} ms, CPU ${middle(cpu).toFixed(2)} ms, others ${foreignCores.toFixed(2)} cores`;
  });
  return ['Turns, medians:', ...lines].join('\n');
}
