import type { Load } from '../load-process.ts';
import { startLoad } from '../load-process.ts';
import { metricOf, WARM_REQUESTS, type Measured, type Outcome } from '../measure.ts';
import { pairedRatios, quantile, type Target } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import { startTurnSubject, turnRoute, type TurnSubject } from './turn-subjects.ts';

const WARM_MS = 400;

/** Who is measured with how many clients: one after the other, in reverse order every second round. */
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

/** How many turns each has run in its life. */
const answered = new WeakMap<Subject, number>();

type Read = (result: Measured) => number;

const rate: Read = (result) => metricOf('rate', result);
const p50: Read = ({ p50Ms }) => p50Ms;
const cpu: Read = (result) => metricOf('cpu', result) / 1_000;
const tail: Read = ({ p99Ms, p50Ms }) => p99Ms / p50Ms;

/** One measurement of a subject, or the ratio of two that were made in the same round. */
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

/** By subject and number of connections, over all starts. */
type Results = Map<string, Measured[]>;

/** Rows 17 and 18: turns that are written before they are accepted, and on the disk before they are answered. */
export async function measureTurns(
  options: TurnOptions,
  onProgress: (what: string) => void,
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
  return { outcomes: claims.map((claim) => outcomeOf(claim, results)), notes: [absolutes(results)] };
}

interface Given {
  contest: Contest;
  subjects: ReadonlyMap<TurnSubject, Subject>;
  load: Load;
  results: Results;
}

async function measureContest(
  { contest, subjects, load, results }: Given,
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
      const key = keyOf([name, connections]);
      results.set(key, [...(results.get(key) ?? []), { ...result, edgeCpu: result.cpu[subject.edge.pid] ?? Number.NaN }]);
    }
}

function keyOf([subject, connections]: Claim['of']): string {
  return `${subject}, c=${connections}`;
}

function outcomeOf({ row, what, of, by, read, unit, target }: Claim, results: Results): Outcome {
  const series = (which: Claim['of']): number[] => (results.get(keyOf(which)) ?? []).map(read);
  const ours = of[0].startsWith('nats') ? ('nats' as const) : ('embedded' as const);
  return { row, ours, what, values: by ? pairedRatios(series(of), series(by)) : series(of), unit, target };
}

/** What each did in absolute numbers, for this machine and this hour. */
function absolutes(results: Results): string {
  const lines = [...results].map(([name, measured]) => {
    const middle = (value: Read): number => quantile(measured.map(value), 0.5);
    const strangers = middle((one) => one.strangers);
    const failed = measured.reduce((sum, { failures }) => sum + failures, 0);
    return `- ${name}: ${failed === 0 ? '' : `${failed} failed, `}${middle(rate).toFixed(0)}/s, p50 ${middle(p50).toFixed(2)} ms, p99 ${middle(({ p99Ms }) => p99Ms).toFixed(1)} ms, CPU ${middle(cpu).toFixed(2)} ms, others ${strangers.toFixed(2)} cores`;
  });
  return ['Turns, medians:', ...lines].join('\n');
}
