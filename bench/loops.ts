import type { LoadPlan } from './load-plan.ts';
import { openClient, type OnAnswer } from './load-client.ts';
import { createRandom } from './placement/random.ts';

/** Latencies of the responses, in milliseconds. */
export interface Samples {
  latencies: number[];
  /** Times to the first byte of the body. */
  firsts: number[];
  failures: number;
  /** Open loop: delays of requests whose connection was free, caused by this process. */
  lates: number[];
}

/** A running load. */
export interface Loop {
  /** Number of responses since the last `begin` or `take`. */
  answered(): number;
  /** Discards the samples so far. */
  begin(): void;
  /** Returns the samples since `begin`. An open loop first waits for the requests that are due. */
  take(): Promise<Samples>;
  /** Waits for the requests in flight. */
  end(): Promise<void>;
}

export function startLoop(plan: LoadPlan): Promise<Loop> {
  return plan.perSecond === undefined ? closedLoop(plan) : openLoop(plan, plan.perSecond);
}

const createSamples = (): Samples => ({ latencies: [], firsts: [], failures: 0, lates: [] });

function addSample(samples: Samples, since: number, { good, firstAt }: { good: boolean; firstAt: number | undefined }): void {
  const now = performance.now();
  if (good) {
    samples.latencies.push(now - since);
    samples.firsts.push((firstAt ?? now) - since);
  } else samples.failures++;
}

/** A closed loop: each connection sends its next request when it has its response. */
async function closedLoop(plan: LoadPlan): Promise<Loop> {
  const startedAt = new Float64Array(plan.connections);
  const idle = Promise.withResolvers<void>();
  let samples = createSamples();
  let stopping = false;
  let inFlight = plan.connections;

  const onAnswer: OnAnswer = (slot, good, firstAt) => {
    addSample(samples, startedAt[slot] as number, { good, firstAt });
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
    begin: () => (samples = createSamples()),
    async take() {
      const taken = samples;
      samples = createSamples();
      return taken;
    },
    async end() {
      stopping = true;
      await idle.promise;
      await client.close();
    },
  };
}

/** All subjects get the same arrival times. */
const SEED = 15;

/** Normal delay of a timer on an idle machine. */
const TIMER_DELAY_MS = 3;

/** A request that is due, and the samples of its time window. */
interface Due {
  at: number;
  samples: Samples;
}

/**
 * An open loop: requests are sent at their arrival times, as by independent clients, without waiting for earlier responses. A latency
 * counts from the arrival time, so it includes the wait for a free connection. Before a near arrival the loop spins, because a timer of
 * Node is late by about the duration of a request.
 */
async function openLoop(plan: LoadPlan, perSecond: number): Promise<Loop> {
  const random = createRandom(SEED);
  const asked: (Due | undefined)[] = Array.from({ length: plan.connections });
  const free = asked.map((_, slot) => slot);
  const waiting: Due[] = [];
  let samples = createSamples();
  let next = performance.now();
  let stopping = false;
  let whenIdle: (() => void) | undefined;

  const onAnswer: OnAnswer = (slot, good, firstAt) => {
    const due = asked[slot] as Due;
    addSample(due.samples, due.at, { good, firstAt });
    asked[slot] = undefined;
    const overdue = waiting.shift();
    if (overdue !== undefined) return sendRequest(slot, overdue);
    free.push(slot);
    if (free.length === plan.connections) whenIdle?.();
  };
  const client = await openClient(plan, onAnswer);

  function sendRequest(slot: number, due: Due): void {
    asked[slot] = due;
    client.ask(slot);
  }

  function arrive(): void {
    for (const now = performance.now(); next <= now; next += random.exponential(1_000 / perSecond)) {
      const due = { at: next, samples };
      samples.lates.push(now - next);
      const slot = free.pop();
      if (slot === undefined) waiting.push(due);
      else sendRequest(slot, due);
    }
    if (stopping) return;
    const remaining = next - performance.now();
    if (remaining > TIMER_DELAY_MS) setTimeout(arrive, remaining - TIMER_DELAY_MS);
    else setImmediate(arrive);
  }
  arrive();

  /** Waits until all requests that are due have responses; further requests may arrive meanwhile. */
  async function answered(of: Samples): Promise<void> {
    while (waiting.some((due) => due.samples === of) || asked.some((due) => due?.samples === of))
      await new Promise<void>((resolve) => void setImmediate(resolve));
  }

  return {
    answered: () => samples.latencies.length,
    begin: () => (samples = createSamples()),
    async take() {
      const taken = samples;
      samples = createSamples();
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
