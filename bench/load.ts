// The load generator. It is a separate process, so that its CPU time is not counted for the measured server.
import { cpuSeconds, machineSeconds } from './proc.ts';
import type { LoadPlan, LoadReport, LoadResult } from './load-plan.ts';
import { startLoop, type Loop } from './loops.ts';
import { quantile } from './statistics.ts';

function report(message: LoadReport): void {
  process.send?.(message);
}

async function run(plan: LoadPlan): Promise<LoadResult> {
  const { pids, ms, excludedPids = [] } = plan;
  const known = [...pids, ...excludedPids];
  const loop = await startLoop(plan);
  const warmed = await warm(loop, plan);
  const before = pids.map(cpuSeconds);
  const foreignBefore = foreignCpuSeconds(known);
  const from = microseconds();
  loop.begin();
  await after(ms);
  const to = microseconds();
  const taking = loop.take();
  const foreignCores = (foreignCpuSeconds(known) - foreignBefore) / ((to - from) / 1e6);
  const used = pids.map((pid, at) => [pid, cpuSeconds(pid) - (before[at] as number)]);
  const { latencies, firsts, failures, lates } = await taking;
  await loop.end();
  if (latencies.length === 0) throw new Error(`no successful response from ${plan.url}${plan.path}, ${failures} failures`);
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
    foreignCores: Math.max(0, foreignCores),
    from,
    to,
  };
}

/** Maximum warm-up of a slow subject. */
const MAX_WARM_MS = 20_000;
const POLL_INTERVAL_MS = 50;

/** Warms the subject up and returns the number of responses. */
async function warm(loop: Loop, { warmMs, warmRequests = 0 }: LoadPlan): Promise<number> {
  const deadline = performance.now() + MAX_WARM_MS;
  await after(warmMs);
  while (loop.answered() < warmRequests && performance.now() < deadline) await after(POLL_INTERVAL_MS);
  return loop.answered();
}

/** CPU seconds of all processes except the given ones and this one. */
function foreignCpuSeconds(pids: readonly number[]): number {
  return [process.pid, ...pids].reduce((remaining, pid) => remaining - cpuSeconds(pid), machineSeconds());
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
