import type { LoadPlan } from './load-plan.ts';
import { openClient, type OnAnswer } from './load-client.ts';
import { createRandom } from './placement/random.ts';

/** What was answered, in milliseconds. */
export interface Samples {
  latencies: number[];
  /** Until the first byte of the answer's body. */
  firsts: number[];
  failures: number;
  /** How long after its time a request was made by a client that was free to make it: what this process was kept from its work. */
  lates: number[];
}

/** Requests that go on being made. */
export interface Loop {
  /** How many were answered since the last `begin` or `take`. */
  answered(): number;
  /** What came before no longer counts. */
  begin(): void;
  /** What counts since then. An open loop waits for what was due until now. */
  take(): Promise<Samples>;
  /** Waits for what is under way. */
  end(): Promise<void>;
}

export function startLoop(plan: LoadPlan): Promise<Loop> {
  return plan.perSecond === undefined ? closedLoop(plan) : openLoop(plan, plan.perSecond);
}

const none = (): Samples => ({ latencies: [], firsts: [], failures: 0, lates: [] });

function note(samples: Samples, since: number, { good, firstAt }: { good: boolean; firstAt: number | undefined }): void {
  const now = performance.now();
  if (good) {
    samples.latencies.push(now - since);
    samples.firsts.push((firstAt ?? now) - since);
  } else samples.failures++;
}

/** Each connection asks again as soon as it has its answer. */
async function closedLoop(plan: LoadPlan): Promise<Loop> {
  const startedAt = new Float64Array(plan.connections);
  const idle = Promise.withResolvers<void>();
  let samples = none();
  let stopping = false;
  let inFlight = plan.connections;

  const onAnswer: OnAnswer = (slot, good, firstAt) => {
    note(samples, startedAt[slot] as number, { good, firstAt });
    if (stopping) {
      if (--inFlight === 0) idle.resolve();
      return;
    }
    startedAt[slot] = performance.now();
    client.ask(slot);
  };
  const client = await openClient(plan, onAnswer);
  startedAt.fill(performance.now());
  for (let slot = 0; slot < plan.connections; slot++) client.ask(slot);

  return {
    answered: () => samples.latencies.length,
    begin: () => (samples = none()),
    async take() {
      const taken = samples;
      samples = none();
      return taken;
    },
    async end() {
      stopping = true;
      await idle.promise;
      await client.close();
    },
  };
}

/** The same arrivals for everybody who is measured. */
const SEED = 15;

/** How late a timer may be on a machine that is not busy. */
const TIMER_MS = 3;

/** A request and the samples of the time it was due in. */
interface Due {
  at: number;
  samples: Samples;
}

/**
 * Requests come when they are due, as from many clients who know nothing of each other, whether the last ones are answered or not. A
 * latency counts from then: what waits for a connection because the server is behind has begun to wait already. Between arrivals the
 * loop spins where they are near, because a timer of Node is as late as an answer takes.
 */
async function openLoop(plan: LoadPlan, perSecond: number): Promise<Loop> {
  const random = createRandom(SEED);
  const asked: (Due | undefined)[] = Array.from({ length: plan.connections });
  const free = asked.map((_, slot) => slot);
  const waiting: Due[] = [];
  let samples = none();
  let next = performance.now();
  let stopping = false;
  let whenIdle: (() => void) | undefined;

  const onAnswer: OnAnswer = (slot, good, firstAt) => {
    const due = asked[slot] as Due;
    note(due.samples, due.at, { good, firstAt });
    asked[slot] = undefined;
    const overdue = waiting.shift();
    if (overdue !== undefined) return ask(slot, overdue);
    free.push(slot);
    if (free.length === plan.connections) whenIdle?.();
  };
  const client = await openClient(plan, onAnswer);

  function ask(slot: number, due: Due): void {
    asked[slot] = due;
    client.ask(slot);
  }

  function arrive(): void {
    for (const now = performance.now(); next <= now; next += random.exponential(1_000 / perSecond)) {
      const due = { at: next, samples };
      samples.lates.push(now - next);
      const slot = free.pop();
      if (slot === undefined) waiting.push(due);
      else ask(slot, due);
    }
    if (stopping) return;
    const left = next - performance.now();
    if (left > TIMER_MS) setTimeout(arrive, left - TIMER_MS);
    else setImmediate(arrive);
  }
  arrive();

  /** Whatever is due has an answer, while more may come. */
  async function answered(of: Samples): Promise<void> {
    while (waiting.some((due) => due.samples === of) || asked.some((due) => due?.samples === of))
      await new Promise<void>((resolve) => void setImmediate(resolve));
  }

  return {
    answered: () => samples.latencies.length,
    begin: () => (samples = none()),
    async take() {
      const taken = samples;
      samples = none();
      await answered(taken);
      return taken;
    },
    async end() {
      stopping = true;
      if (free.length < plan.connections) await new Promise<void>((resolve) => (whenIdle = resolve));
      await client.close();
    },
  };
}
