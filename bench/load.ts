// The load generator: a process of its own, so that its work is not in the numbers of what it measures.
import { cpuSeconds, machineSeconds } from './proc.ts';
import type { LoadPlan, LoadReport, LoadResult } from './load-plan.ts';
import { openClient, type OnAnswer } from './load-client.ts';
import { quantile } from './statistics.ts';

function report(message: LoadReport): void {
  process.send?.(message);
}

/** A closed loop: each connection asks again as soon as it has its answer. */
async function run(plan: LoadPlan): Promise<LoadResult> {
  const { pids, warmMs, ms } = plan;
  const startedAt = new Float64Array(plan.connections);
  let latencies: number[] = [];
  let firsts: number[] = [];
  let failures = 0;
  let stopping = false;
  let inFlight = plan.connections;
  const idle = Promise.withResolvers<void>();

  const onAnswer: OnAnswer = (slot, good, firstAt) => {
    const now = performance.now();
    if (good) {
      latencies.push(now - (startedAt[slot] as number));
      firsts.push((firstAt ?? now) - (startedAt[slot] as number));
    } else failures++;
    if (stopping) {
      if (--inFlight === 0) idle.resolve();
      return;
    }
    startedAt[slot] = now;
    client.ask(slot);
  };
  const client = await openClient(plan, onAnswer);
  startedAt.fill(performance.now());
  for (let slot = 0; slot < plan.connections; slot++) client.ask(slot);

  await after(warmMs);
  const before = pids.map(cpuSeconds);
  const strangersBefore = strangerSeconds(pids);
  const from = microseconds();
  latencies = [];
  firsts = [];
  failures = 0;
  await after(ms);
  const to = microseconds();
  const strangers = (strangerSeconds(pids) - strangersBefore) / ((to - from) / 1e6);
  const used = pids.map((pid, at) => [pid, cpuSeconds(pid) - (before[at] as number)]);
  const [measured, measuredFirsts, failed] = [latencies, firsts, failures];
  latencies = [];
  stopping = true;
  await idle.promise;
  await client.close();
  if (measured.length === 0) throw new Error(`not one good answer from ${plan.url}${plan.path}, ${failed} bad ones`);
  return {
    requests: measured.length,
    failures: failed,
    seconds: (to - from) / 1e6,
    p50Ms: quantile(measured, 0.5),
    p99Ms: quantile(measured, 0.99),
    firstMs: quantile(measuredFirsts, 0.5),
    cpu: Object.fromEntries(used) as Record<number, number>,
    strangers: Math.max(0, strangers),
    from,
    to,
  };
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
