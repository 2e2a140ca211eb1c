import { residentKib } from '../proc.ts';
import type { LoadPlan } from '../load-plan.ts';
import { startLoad, type Load } from '../load-process.ts';
import { readMetric, WARM_REQUESTS, type Outcome } from '../measure.ts';
import type { Subject } from '../subject.ts';
import { startTurnSubject, turnRoute } from './turn-subjects.ts';

const CONNECTIONS = 32;
const WARM_MS = 400;
/** Duration of the rate measurements before and after. */
const MEASURED_MS = 4_000;
/** Duration of one portion of added turns. */
const PORTION_MS = 5_000;

/** Row 18, stored turns: the effect of `count` stored turns on rate and memory. The claim is made for 100,000. */
export async function measureStoredTurns(
  count: number,
  onProgress: (description: string) => void,
): Promise<{ outcomes: Outcome[]; notes: string[] }> {
  await using stack = new AsyncDisposableStack();
  const subject = await startTurnSubject('embedded-upstream', stack);
  using load = await startLoad();
  onProgress('turns kept: before');
  const before = await sendRequest(load, subject, { warmMs: WARM_MS, warmRequests: WARM_REQUESTS, ms: MEASURED_MS });
  const residentBefore = residentKib(subject.edge.pid);
  let added = 0;
  let residentHalfway = residentBefore;
  while (added < count) {
    if (added < count / 2) residentHalfway = residentKib(subject.edge.pid);
    added += (await sendRequest(load, subject, { warmMs: 0, ms: PORTION_MS })).requests;
    onProgress(`turns kept: ${added} of ${count}`);
  }
  const after = await sendRequest(load, subject, { warmMs: WARM_MS, ms: MEASURED_MS });
  const residentAfter = residentKib(subject.edge.pid);
  const grown = (residentAfter - residentBefore) / 1_024;
  // After this portion the logs of the embedded bus have reached their limits.
  const grownSinceHalf = (residentAfter - residentHalfway) / 1_024;
  const line = { row: 18, ours: 'embedded' as const };
  return {
    outcomes: [
      {
        ...line,
        what: `${added} turns kept: rate ÷ before`,
        values: [readRate(after) / readRate(before)],
        unit: 'x',
        target: { least: 0.9 },
      },
      {
        ...line,
        what: `${added} turns kept: CPU ÷ before`,
        values: [readMetric('cpu', after) / readMetric('cpu', before)],
        unit: 'x',
        target: {},
      },
      { ...line, what: `${added} turns kept: RSS grows`, values: [grown], unit: 'MiB', target: { most: 50 } },
      { ...line, what: 'share of the growth in the second half', values: [grownSinceHalf], unit: 'MiB', target: { most: 20 } },
    ],
    notes: [],
  };
}

async function sendRequest(load: Load, subject: Subject, pace: Pick<LoadPlan, 'warmMs' | 'warmRequests' | 'ms'>) {
  const result = await load.measure({ ...turnRoute(subject), ...pace, connections: CONNECTIONS, pids: subject.pids });
  if (result.failures > 0) throw new Error(`${result.failures} turns failed: what is kept are turns that are done`);
  return { ...result, edgeCpu: result.cpu[subject.edge.pid] ?? Number.NaN };
}

function readRate(result: Parameters<typeof readMetric>[1]): number {
  return readMetric('rate', result);
}
