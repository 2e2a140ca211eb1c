import { resolve } from 'node:path';
import { planFaults, planPoints } from './plan.ts';
import { freshDirectory, judge, runChaos } from './run-chaos.ts';

/*
 * `make chaos SEED=… FAULTS=…`. POINTS=n makes sessions die n times at each of the instrumented points instead, EVERY=ms says how often
 * something goes wrong, DIR where everything stays that was seen, CHECK=1 looks at what is there again.
 */

const { SEED, FAULTS, POINTS, EVERY, TALKERS, DIR, CHECK } = process.env;

function numberOf(name: string, text: string | undefined, otherwise: number): number {
  const number = text === undefined || text === '' ? otherwise : Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${name}=${text}: expected a whole number`);
  return number;
}

const seed = numberOf('SEED', SEED, Math.floor(Math.random() * 1_000_000));
const dir = resolve(DIR === undefined || DIR === '' ? `.switchyard/chaos-${seed}` : DIR);
const everyMs = numberOf('EVERY', EVERY, 1_500);
const points = numberOf('POINTS', POINTS, 0);
const plan =
  points > 0 ? planPoints({ seed, times: points, everyMs }) : planFaults({ seed, faults: numberOf('FAULTS', FAULTS, 100), everyMs });
const say = (line: string): boolean => process.stderr.write(`${line}\n`);

const { violations, figures } =
  CHECK === '1' ? judge(dir) : await runChaos(freshDirectory(dir), { seed, plan, talkers: numberOf('TALKERS', TALKERS, 8), say });
process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
for (const { invariant, what } of violations) process.stdout.write(`${invariant}: ${what}\n`);
say(
  violations.length === 0
    ? `nothing is wrong; everything stands in ${dir}`
    : `${violations.length} violations; everything stands in ${dir}`,
);
process.exit(violations.length === 0 ? 0 : 1);
