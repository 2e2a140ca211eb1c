import { quantile } from '../statistics.ts';
import { simulate, type Outcome, type Scenario } from './simulate.ts';
import { erlangWait, fairShares, turnWait } from './theory.ts';

const CLUSTER = {
  replicas: 100,
  slots: 10,
  slotsOfTenant: 10,
  tenants: 1_000,
  skew: 1.1,
  meanMs: 2_000,
  wakeMs: 1,
  sweepMs: 1_000,
  depth: 1_000,
};

const seed = Number(process.argv[2] ?? 1);
console.log(
  `100 replicas of 10 slots, 1,000 tenants of which the n-th asks n^-1.1 times as often as the first; turns of 2 s in the mean; seed ${seed}.\n`,
);
console.log(
  '| load | order | slots busy | mean wait of all | Erlang C | lines | wait of a small tenant | its bound | p99 | its bound | least share ÷ fair |',
);
console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |');
for (const load of [0.8, 0.95, 0.99, 1.5, 3])
  for (const order of ['longest-ago', 'circle', 'oldest-first'] as const) {
    const scenario: Scenario = { ...CLUSTER, seed, load, order, lengthMs: 300_000 };
    console.log(`| ${[String(load), order, ...row(scenario, simulate(scenario))].join(' | ')} |`);
  }

function row(scenario: Scenario, outcome: Outcome): string[] {
  const { replicas, slots, meanMs, load, lengthMs } = scenario;
  const servers = replicas * slots;
  const startsPerMs = servers / meanMs;
  const all = outcome.tenants.flatMap(({ waits }) => waits);
  const small = outcome.tenants.slice(outcome.tenants.length / 2).flatMap(({ waits }) => waits);
  const lines = Math.max(outcome.linesSeen, 0);
  const fair = fairShares(
    outcome.tenants.map(({ demand }) => demand),
    startsPerMs,
  );
  const shares = outcome.tenants.map(({ waits }, index) => waits.length / lengthMs / fair[index]!);
  return [
    `${(outcome.busy * 100).toFixed(1)} %`,
    ms(mean(all)),
    load < 1 ? ms(erlangWait({ servers, load, meanMs })) : '–',
    lines.toFixed(0),
    ms(mean(small)),
    ms(turnWait({ lines, startsPerMs })),
    ms(quantile(small, 0.99)),
    ms(turnWait({ lines, startsPerMs }, 0.99)),
    Math.min(...shares.slice(0, 100)).toFixed(2),
  ];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}
