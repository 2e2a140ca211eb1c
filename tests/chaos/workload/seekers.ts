import { setTimeout as sleep } from 'node:timers/promises';
import { dice } from '@switchyard/testkit';
import type { Place } from '../plan.ts';
import { questionToward } from './question.ts';
import { sendRequest, type Talking } from './talker.ts';

const EVERY_MS = 200;
/** Every n-th question is long, so that a runner dies during it. */
const LASTING = 4;
/** Limit of open questions. Questions to a dead replica are retried until their outcome is known. */
const MOST = 64;

/** Clients that send questions which reach a point. */
export interface Seekers {
  /** Sends questions until it is disposed of. */
  seek(place: Place): Disposable;
  /** Resolves when all outcomes are known. */
  finish(): Promise<void>;
}

export interface Seeking extends Talking {
  seed: number;
  /** Prefix of their sessions. */
  prefix: string;
}

/** Each question has its own session, so that a turn without a runner blocks no other. */
export function startSeekers({ seed, prefix, ...talking }: Seeking): Seekers {
  const random = dice(seed);
  const asking = new Set<Promise<unknown>>();
  let requestCount = 0;

  function askOne(place: Place): void {
    const name = `${prefix}${requestCount}`;
    const question = questionToward(requestCount % LASTING === 0 ? 'text' : place, { random, name, session: name });
    requestCount += 1;
    const done = sendRequest(talking, name, question, random).finally(() => asking.delete(done));
    asking.add(done);
  }

  async function seek(place: Place, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !talking.signal.aborted) {
      if (asking.size < MOST) askOne(place);
      await sleep(EVERY_MS);
    }
  }

  return {
    seek(place) {
      const found = new AbortController();
      void seek(place, found.signal);
      return { [Symbol.dispose]: () => found.abort() };
    },
    async finish() {
      await Promise.all(asking);
    },
  };
}
