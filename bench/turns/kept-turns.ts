import { residentKib } from '../proc.ts';
import type { LoadPlan } from '../load-plan.ts';
import { startLoad, type Load } from '../load-process.ts';
import { metricOf, WARM_REQUESTS, type Outcome } from '../measure.ts';
import type { Subject } from '../subject.ts';
import { startTurnSubject, turnRoute } from './turn-subjects.ts';

const CONNECTIONS = 32;
const WARM_MS = 400;
/** The rate before and after is taken over so long. */
const MEASURED_MS = 4_000;
/** Turns are added in portions of so long. */
const PORTION_MS = 5_000;

/** Row 18, the long part: what `count` more turns change. Their number is `--turns`; the claim is made of 100,000. */
export async function measureKept(count: number, onProgress: (what: string) => void): Promise<{ outcomes: Outcome[]; notes: string[] }> {
  await using stack = new AsyncDisposableStack();
  const subject = await startTurnSubject('embedded-upstream', stack);
  using load = await startLoad();
  onProgress('turns kept: before');
  const before = await ask(load, subject, { warmMs: WARM_MS, warmRequests: WARM_REQUESTS, ms: MEASURED_MS });
  const residentBefore = residentKib(subject.edge.pid);
  let added = 0;
  let residentHalfway = residentBefore;
  while (added < count) {
    if (added < count / 2) residentHalfway = residentKib(subject.edge.pid);
    added += (await ask(load, subject, { warmMs: 0, ms: PORTION_MS })).requests;
    onProgress(`turns kept: ${added} of ${count}`);
  }
  const after = await ask(load, subject, { warmMs: WARM_MS, ms: MEASURED_MS });
  const residentAfter = residentKib(subject.edge.pid);
  const grown = (residentAfter - residentBefore) / 1_024;
  // By then the logs of an embedded bus hold what they may.
  const grownSinceHalf = (residentAfter - residentHalfway) / 1_024;
  const line = { row: 18, ours: 'embedded' as const };
  return {
    outcomes: [
      { ...line, what: `${added} turns kept: rate ÷ before`, values: [rateOf(after) / rateOf(before)], unit: 'x', target: { least: 0.9 } },
      {
        ...line,
        what: `${added} turns kept: CPU ÷ before`,
        values: [metricOf('cpu', after) / metricOf('cpu', before)],
        unit: 'x',
        target: {},
      },
      { ...line, what: `${added} turns kept: RSS grows`, values: [grown], unit: 'MiB', target: { most: 50 } },
      { ...line, what: 'of it with the second half of them', values: [grownSinceHalf], unit: 'MiB', target: { most: 20 } },
    ],
    notes: [],
  };
}

async function ask(load: Load, subject: Subject, pace: Pick<LoadPlan, 'warmMs' | 'warmRequests' | 'ms'>) {
  const result = await load.measure({ ...turnRoute(subject), ...pace, connections: CONNECTIONS, pids: subject.pids });
  if (result.failures > 0) throw new Error(`${result.failures} turns failed: what is kept are turns that are done`);
  return { ...result, edgeCpu: result.cpu[subject.edge.pid] ?? Number.NaN };
}

function rateOf(result: Parameters<typeof metricOf>[1]): number {
  return metricOf('rate', result);
}
