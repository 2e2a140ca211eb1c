import { resolve } from 'node:path';
import { planFaults, planPoints, POINTS as ALL_POINTS, type Point } from './plan.ts';
import { freshDirectory, judge, runChaos } from './run-chaos.ts';

/*
 * `make chaos SEED=… FAULTS=…`. POINTS=n kills sessions n times at each instrumented point instead, or at the points of
 * ONLY='before take,after text'. EVERY=ms sets the interval of faults, DIR the directory of the recording; CHECK=1 checks an existing
 * recording again.
 */

const { SEED, FAULTS, POINTS, ONLY, EVERY, TALKERS, DIR, CHECK } = process.env;

function getNumber(name: string, text: string | undefined, otherwise: number): number {
  const number = text === undefined || text === '' ? otherwise : Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${name}=${text}: expected a whole number`);
  return number;
}

function getPoints(text: string | undefined): readonly Point[] {
  if (text === undefined || text === '') return ALL_POINTS;
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !ALL_POINTS.some((point) => point === name));
  if (unknown !== undefined) throw new Error(`ONLY=${text}: there is no ${unknown}, but ${ALL_POINTS.join(', ')}`);
  return ALL_POINTS.filter((point) => names.includes(point));
}

const seed = getNumber('SEED', SEED, Math.floor(Math.random() * 1_000_000));
const dir = resolve(DIR === undefined || DIR === '' ? `.switchyard/chaos-${seed}` : DIR);
const everyMs = getNumber('EVERY', EVERY, 1_500);
const points = getNumber('POINTS', POINTS, 0);
const plan =
  points > 0
    ? planPoints({ seed, times: points, everyMs, of: getPoints(ONLY) })
    : planFaults({ seed, faults: getNumber('FAULTS', FAULTS, 100), everyMs });
const sendMessage = (line: string): boolean => process.stderr.write(`${line}\n`);

const { violations, unreached, figures } =
  CHECK === '1'
    ? judge(dir)
    : await runChaos(freshDirectory(dir), { seed, plan, talkers: getNumber('TALKERS', TALKERS, 8), say: sendMessage });
process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
for (const { invariant, what } of violations) process.stdout.write(`${invariant}: ${what}\n`);
for (const description of unreached) process.stdout.write(`not reached: ${description}\n`);
const wrong = violations.length === 0 ? 'nothing is wrong' : `${violations.length} violations`;
const missing = unreached.length === 0 ? '' : `, and ${unreached.length} points were not reached`;
sendMessage(`${wrong}${missing}; everything stands in ${dir}`);
process.exit(violations.length + unreached.length === 0 ? 0 : 1);
