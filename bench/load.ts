// The load generator: a process of its own, so that its work is not in the numbers of what it measures.
import { cpuSeconds, machineSeconds } from './proc.ts';
import type { LoadPlan, LoadReport, LoadResult } from './load-plan.ts';
import { startLoop, type Loop } from './loops.ts';
import { quantile } from './statistics.ts';

function report(message: LoadReport): void {
  process.send?.(message);
}

async function run(plan: LoadPlan): Promise<LoadResult> {
  const { pids, ms, beside = [] } = plan;
  const known = [...pids, ...beside];
  const loop = await startLoop(plan);
  const warmed = await warm(loop, plan);
  const before = pids.map(cpuSeconds);
  const strangersBefore = strangerSeconds(known);
  const from = microseconds();
  loop.begin();
  await after(ms);
  const to = microseconds();
  const taking = loop.take();
  const strangers = (strangerSeconds(known) - strangersBefore) / ((to - from) / 1e6);
  const used = pids.map((pid, at) => [pid, cpuSeconds(pid) - (before[at] as number)]);
  const { latencies, firsts, failures, lates } = await taking;
  await loop.end();
  if (latencies.length === 0) throw new Error(`not one good answer from ${plan.url}${plan.path}, ${failures} bad ones`);
  return {
    requests: latencies.length,
    warmed,
    failures,
    seconds: (to - from) / 1e6,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    firstMs: quantile(firsts, 0.5),
    lateMs: lates.length === 0 ? 0 : quantile(lates, 0.99),
    cpu: Object.fromEntries(used) as Record<number, number>,
    strangers: Math.max(0, strangers),
    from,
    to,
  };
}

/** How long may be waited for the requests that warm a slow one. */
const MOST_WARM_MS = 20_000;
const LOOK_MS = 50;

/** Returns how many were answered meanwhile. */
async function warm(loop: Loop, { warmMs, warmRequests = 0 }: LoadPlan): Promise<number> {
  const until = performance.now() + MOST_WARM_MS;
  await after(warmMs);
  while (loop.answered() < warmRequests && performance.now() < until) await after(LOOK_MS);
  return loop.answered();
}

/** What neither the measured processes nor this one spent. */
function strangerSeconds(pids: readonly number[]): number {
  return [process.pid, ...pids].reduce((left, pid) => left - cpuSeconds(pid), machineSeconds());
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

function microseconds(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

process.on('message', (plan) => {
  run(plan as LoadPlan).then(
    (result) => report({ result }),
    (error: unknown) => report({ failed: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
report({ ready: true });
