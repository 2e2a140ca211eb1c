import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { WARM_REQUESTS, type Outcome } from './measure.ts';
import { keepApart } from './pin.ts';
import { residentKib } from './proc.ts';
import { startEmbedded } from './product.ts';
import type { Subject } from './subject.ts';

/** Row 19: three times what it can do is asked of it. */
const TIMES = 3;
/** What keeps it busy: more than run at once, fewer than may wait. */
const CLIENTS = 32;
const SESSIONS = 64;
const MAY_WAIT = 100;
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
    const subject = await startEmbedded(stack, { env: { SWITCHYARD_QUEUE__MAX_WAITING: String(MAY_WAIT) } });
    using _apart = keepApart(subject.edge.pid);
    await using load = openLoad(subject);
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

interface Load extends AsyncDisposable {
  /** Asks until the code of what is asked is compiled. */
  warm(): Promise<void>;
  /** Answers a second when a fixed number of clients ask again at once. */
  peak(seconds: number): Promise<number>;
  /** Answers a second while so many are asked, from the first that is refused on. Resolves when nothing is under way any more. */
  offer(rate: number, seconds: number): Promise<number>;
}

function openLoad({ url, headers }: Subject): Load {
  const dispatcher = new Agent({ connections: MAY_WAIT * TIMES, pipelining: 1 });
  let asked = 0;

  /** A connection that breaks is no answer. */
  async function turn(): Promise<boolean> {
    return ask().catch(() => false);
  }

  async function ask(): Promise<boolean> {
    const params = { message: 'hello', sessionKey: { channelId: `c${asked++ % SESSIONS}` } };
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
