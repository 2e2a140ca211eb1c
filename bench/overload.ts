import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { TURNS_IN_A_SESSION } from './load-plan.ts';
import { WARM_REQUESTS, type Outcome } from './measure.ts';
import { keepApart } from './pin.ts';
import { residentKib } from './proc.ts';
import { startEmbedded } from './product.ts';
import type { Subject } from './subject.ts';

/** Row 19: three times what it can do is asked of it. */
export const TIMES = 3;
/** What keeps it busy: more than run at once, fewer than may wait. */
const CLIENTS = 32;
/** At a time; each is followed by a new one. */
const SESSIONS = 64;
const MAY_WAIT = 100;
/** A queue that can be full. */
export const BOUNDED_QUEUE = { SWITCHYARD_QUEUE__MAX_WAITING: String(MAY_WAIT) };
const TICK_MS = 10;
/** By then it is warm; and by then something was refused, or nothing will be. */
const FILLED_S = 60;
const MIB = 1_024;

interface OverloadOptions {
  starts: number;
  rounds: number;
  seconds: number;
}

/** Turns that are answered in a second, when as many are asked as can be, and when three times as many are. */
export async function measureOverload(
  { starts, rounds, seconds }: OverloadOptions,
  onProgress: (what: string) => void,
): Promise<Outcome[]> {
  const ratios: number[] = [];
  const grown: number[] = [];
  for (let start = 1; start <= starts; start++) {
    await using stack = new AsyncDisposableStack();
    const subject = await startEmbedded(stack, { env: BOUNDED_QUEUE });
    using _apart = keepApart(subject.edge.pid);
    await using load = openTurnLoad(subject);
    await load.warm();
    for (let round = 1; round <= rounds; round++) {
      onProgress(`start ${start}: overload, round ${round} of ${rounds}`);
      const peak = await load.peak(seconds);
      const before = residentKib(subject.edge.pid);
      const over = await load.offer(peak * TIMES, seconds);
      ratios.push(over / peak);
      grown.push((residentKib(subject.edge.pid) - before) / MIB);
    }
  }
  const line = { row: 19, ours: 'embedded' as const };
  return [
    { ...line, what: `turns answered at ${TIMES} × capacity ÷ at capacity`, values: ratios, unit: 'x', target: { least: 0.8 } },
    { ...line, what: `RSS that ${TIMES} × capacity adds`, values: grown, unit: 'MiB', target: { most: 100 } },
  ];
}

export interface TurnLoad extends AsyncDisposable {
  /** How many were answered until now. */
  answered(): number;
  /** Asks until the code of what is asked is compiled. */
  warm(): Promise<void>;
  /** Answers a second when a fixed number of clients ask again at once. */
  peak(seconds: number): Promise<number>;
  /** Answers a second while so many are asked, from the first that is refused on. Resolves when nothing is under way any more. */
  offer(rate: number, seconds: number): Promise<number>;
}

export function openTurnLoad({ url, headers }: Subject): TurnLoad {
  const dispatcher = new Agent({ connections: MAY_WAIT * TIMES, pipelining: 1 });
  let [asked, answers] = [0, 0];

  /** A connection that breaks is no answer. */
  async function turn(): Promise<boolean> {
    const good = await ask().catch(() => false);
    if (good) answers += 1;
    return good;
  }

  async function ask(): Promise<boolean> {
    const [session, before] = [asked % SESSIONS, Math.floor(asked++ / (SESSIONS * TURNS_IN_A_SESSION))];
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

  /** As many answers as a fixed number of clients get that ask again at once, for as long as they may. */
  async function askWhile(mayGoOn: (answered: number) => boolean): Promise<number> {
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
      const until = performance.now() + FILLED_S * 1_000;
      await askWhile((answered) => answered < WARM_REQUESTS && performance.now() < until);
    },
    async peak(seconds) {
      const until = performance.now() + seconds * 1_000;
      return (await askWhile(() => performance.now() < until)) / seconds;
    },
    async offer(rate, seconds) {
      const from = performance.now();
      const under = new Set<Promise<void>>();
      let [sent, answered, fullAt] = [0, 0, Infinity];
      const ask = (): void => {
        // A connection that breaks is no answer.
        const failed = (): boolean => false;
        const done = turn()
          .catch(failed)
          .then((good) => {
            // Until the first is refused, queues fill: what is asked then is answered later.
            if (!good) fullAt = Math.min(fullAt, performance.now());
            else if (fullAt < Infinity) answered += 1;
            under.delete(done);
          });
        under.add(done);
      };
      const isOver = (now: number): boolean => now - fullAt > seconds * 1_000 || now - from > FILLED_S * 1_000;
      for (let now = from; !isOver(now); now = performance.now()) {
        for (const due = ((now - from) / 1_000) * rate; sent < due; sent++) ask();
        await sleep(TICK_MS);
      }
      const counted = answered;
      await Promise.all(under);
      if (fullAt === Infinity) throw new Error('nothing was refused: this was no overload');
      return counted / seconds;
    },
    [Symbol.asyncDispose]: () => dispatcher.close(),
  };
}
