import type { Outcome } from '../measure.ts';
import { startBroker } from '../product.ts';
import { pairedRatios, type Target } from '../statistics.ts';
import { startNode } from '../subject.ts';
import { startDriver, type Driver } from './driver.ts';
import { installPeers } from './peers.ts';

const FIRST_WARM_MS = 1_500;
const WARM_MS = 400;

/** Two programs for the same work on one broker, and the claim about the first. */
interface Contest {
  row: number;
  what: string;
  ours: string;
  theirs: string;
  inFlight: number;
  target: Target;
}

const call = { row: 6, what: 'bus.call', ours: 'ours-caller' };
const CONTESTS: readonly Contest[] = [
  { ...call, theirs: 'moleculer-caller', inFlight: 1, target: { least: 1.15 } },
  { ...call, theirs: 'moleculer-caller', inFlight: 32, target: { least: 1.15 } },
  { ...call, theirs: 'moleculer-caller', inFlight: 128, target: { least: 1.45 } },
  { ...call, theirs: 'raw-caller', inFlight: 1, target: {} },
  { ...call, theirs: 'raw-caller', inFlight: 128, target: {} },
  { ...call, what: 'the least call', ours: 'raw-caller', theirs: 'moleculer-caller', inFlight: 1, target: {} },
  { ...call, theirs: 'nest-caller', inFlight: 32, target: { least: 2.3 } },
  { ...call, theirs: 'nest-caller', inFlight: 128, target: { least: 2.3 } },
  { row: 16, what: 'durable append', ours: 'ours-append', theirs: 'client-append', inFlight: 32, target: { least: 2.5 } },
  { row: 16, what: 'durable append', ours: 'ours-append', theirs: 'client-append', inFlight: 128, target: { least: 2.5 } },
  { row: 16, what: 'the least append', ours: 'raw-append', theirs: 'client-append', inFlight: 32, target: {} },
  { row: 16, what: 'the least append', ours: 'raw-append', theirs: 'client-append', inFlight: 128, target: {} },
];

export interface BusOptions {
  rows: ReadonlySet<number>;
  starts: number;
  rounds: number;
  seconds: number;
}

/** Rows 6 and 16: calls and events on the bus, without a gateway. */
export async function measureBus(options: BusOptions, onProgress: (description: string) => void): Promise<Outcome[]> {
  const contests = CONTESTS.filter(({ row }) => options.rows.has(row));
  if (options.rows.has(6)) await installPeers();
  const rates = contests.map(() => ({ ours: [] as number[], theirs: [] as number[] }));
  for (let start = 1; start <= options.starts; start++) {
    await using stack = new AsyncDisposableStack();
    const drivers = await startDrivers(contests, stack);
    for (const [index, { what, ours, theirs, inFlight }] of contests.entries())
      for (let round = 0; round < options.rounds; round++) {
        onProgress(`start ${start}: ${what} against ${theirs}, ${inFlight} in flight, round ${round + 1} of ${options.rounds}`);
        const plan = { inFlight, warmMs: round === 0 ? FIRST_WARM_MS : WARM_MS, ms: options.seconds * 1_000 };
        for (const side of round % 2 === 0 ? (['ours', 'theirs'] as const) : (['theirs', 'ours'] as const)) {
          const { rate } = await drivers.get(side === 'ours' ? ours : theirs)!.measure(plan);
          rates[index]![side].push(rate);
        }
      }
  }
  return contests.map(({ row, what, theirs, inFlight, target }, index) => ({
    row,
    ours: 'nats',
    what: `${what} ÷ ${theirs.replace(/-.*/, '')}, a second, ${inFlight} in flight`,
    values: pairedRatios(rates[index]!.ours, rates[index]!.theirs),
    unit: 'x',
    target,
  }));
}

async function startDrivers(contests: readonly Contest[], stack: AsyncDisposableStack): Promise<Map<string, Driver>> {
  const { url } = await startBroker(stack);
  const env = { NATS_URL: url };
  const drivers = new Map<string, Driver>();
  for (const script of new Set(contests.flatMap(({ ours, theirs }) => [ours, theirs]))) {
    const responder = script.replace('-caller', '-responder');
    if (responder !== script) stack.use(await startNode(`bench/bus/${responder}.ts`, { env, ready: /answering/ }));
    drivers.set(script, stack.use(await startDriver(`${script}.ts`, env)));
  }
  return drivers;
}
