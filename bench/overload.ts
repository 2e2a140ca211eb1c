import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { TURNS_PER_SESSION } from './load-plan.ts';
import { WARM_REQUESTS, type Outcome } from './measure.ts';
import { pinToFirstCpu } from './cpu-pinning.ts';
import { residentKib } from './proc.ts';
import { startEmbedded } from './product.ts';
import type { Subject } from './subject.ts';

/** Row 19: load as a multiple of the capacity. */
export const OVERLOAD_FACTOR = 3;
/** Clients that saturate the agent: more than its slots, fewer than its queue holds. */
const CLIENTS = 32;
/** Sessions in use at a time; each is replaced by a new one. */
const SESSIONS = 64;
const MAX_WAITING = 100;
/** Settings of a queue small enough to be full. */
export const BOUNDED_QUEUE = { SWITCHYARD_QUEUE__MAX_WAITING: String(MAX_WAITING) };
const TICK_MS = 10;
/** Limit in seconds for the warm-up, and for the first rejection under overload. */
const FILL_TIMEOUT_S = 60;
const MIB = 1_024;

interface OverloadOptions {
  starts: number;
  rounds: number;
  seconds: number;
}

/** Measures answered turns per second at capacity, and at three times the capacity. */
export async function measureOverload(
  { starts, rounds, seconds }: OverloadOptions,
  onProgress: (description: string) => void,
): Promise<Outcome[]> {
  const ratios: number[] = [];
  const growthMib: number[] = [];
  for (let start = 1; start <= starts; start++) {
    await using stack = new AsyncDisposableStack();
    const subject = await startEmbedded(stack, { env: BOUNDED_QUEUE });
    using _apart = pinToFirstCpu(subject.edge.pid);
    await using load = openTurnLoad(subject);
    await load.warm();
    for (let round = 1; round <= rounds; round++) {
      onProgress(`start ${start}: overload, round ${round} of ${rounds}`);
      const peak = await load.peak(seconds);
      const before = residentKib(subject.edge.pid);
      const over = await load.offer(peak * OVERLOAD_FACTOR, seconds);
      ratios.push(over / peak);
      growthMib.push((residentKib(subject.edge.pid) - before) / MIB);
    }
  }
  const line = { row: 19, ours: 'embedded' as const };
  return [
    { ...line, what: `turns answered at ${OVERLOAD_FACTOR} × capacity ÷ at capacity`, values: ratios, unit: 'x', target: { least: 0.8 } },
    { ...line, what: `RSS that ${OVERLOAD_FACTOR} × capacity adds`, values: growthMib, unit: 'MiB', target: { most: 100 } },
  ];
}

export interface TurnLoad extends AsyncDisposable {
  /** Number of answered turns so far. */
  answered(): number;
  /** Runs turns until the code is compiled. */
  warm(): Promise<void>;
  /** Answered turns per second in a closed loop. */
  peak(seconds: number): Promise<number>;
  /** Answered turns per second at the given rate, from the first rejection on. Resolves when all requests have ended. */
  offer(rate: number, seconds: number): Promise<number>;
}

export function openTurnLoad({ url, headers }: Subject): TurnLoad {
  const dispatcher = new Agent({ connections: MAX_WAITING * OVERLOAD_FACTOR, pipelining: 1 });
  let [requestCount, answers] = [0, 0];

  /** Returns whether the turn was answered. A broken connection counts as unanswered. */
  async function turn(): Promise<boolean> {
    const good = await sendRequest().catch(() => false);
    if (good) answers += 1;
    return good;
  }

  async function sendRequest(): Promise<boolean> {
    const [session, before] = [requestCount % SESSIONS, Math.floor(requestCount++ / (SESSIONS * TURNS_PER_SESSION))];
    const params = { message: 'hello', sessionKey: { channelId: `c${session}-${before}` } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'agent.execute', params });
    const answer = await request(`${url}/rpc`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
      dispatcher,
    });
    return (await answer.body.text()).includes('"result"');
  }

  /** Runs a closed loop while `mayGoOn` returns true, and returns the number of answers. */
  async function runClosedLoop(mayGoOn: (answeredCount: number) => boolean): Promise<number> {
    let answered = 0;
    const client = async (): Promise<void> => {
      while (mayGoOn(answered)) if (await turn()) answered += 1;
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    return answered;
  }

  return {
    answered: () => answers,
    async warm() {
      const deadline = performance.now() + FILL_TIMEOUT_S * 1_000;
      await runClosedLoop((answered) => answered < WARM_REQUESTS && performance.now() < deadline);
    },
    async peak(seconds) {
      const until = performance.now() + seconds * 1_000;
      return (await runClosedLoop(() => performance.now() < until)) / seconds;
    },
    async offer(rate, seconds) {
      const from = performance.now();
      const under = new Set<Promise<void>>();
      let [sent, answered, fullAt] = [0, 0, Infinity];
      const ask = (): void => {
        // A broken connection counts as unanswered.
        const failed = (): boolean => false;
        const done = turn()
          .catch(failed)
          .then((good) => {
            // Before the first rejection queues are filling; turns of that time are answered later and do not count.
            if (!good) fullAt = Math.min(fullAt, performance.now());
            else if (fullAt < Infinity) answered += 1;
            under.delete(done);
          });
        under.add(done);
      };
      const isOver = (now: number): boolean => now - fullAt > seconds * 1_000 || now - from > FILL_TIMEOUT_S * 1_000;
      for (let now = from; !isOver(now); now = performance.now()) {
        for (const due = ((now - from) / 1_000) * rate; sent < due; sent++) ask();
        await sleep(TICK_MS);
      }
      const counted = answered;
      await Promise.all(under);
      if (fullAt === Infinity) throw new Error('no turn was rejected, so the load was no overload');
      return counted / seconds;
    },
    [Symbol.asyncDispose]: () => dispatcher.close(),
  };
}
