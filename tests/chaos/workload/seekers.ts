import { setTimeout as sleep } from 'node:timers/promises';
import { dice } from '@switchyard/testkit';
import type { Place } from '../plan.ts';
import { questionToward } from './question.ts';
import { ask, type Talking } from './talker.ts';

const EVERY_MS = 200;
/** One in so many questions lasts for a while whatever is wanted, so that somebody dies under it. */
const LASTING = 4;
/** What was asked of who died is asked again until it is known; more than this is not begun meanwhile. */
const MOST = 64;

/** Clients who ask for what leads to a place, while it is wanted. */
export interface Seekers {
  /** From now on, until it is disposed of. */
  seek(place: Place): Disposable;
  /** Everybody knows what became of what was asked. */
  finish(): Promise<void>;
}

export interface Seeking extends Talking {
  seed: number;
  /** With what their sessions begin. */
  prefix: string;
}

/** Each asks once, in a session of its own: what stands still because its runner died holds up nobody. */
export function startSeekers({ seed, prefix, ...talking }: Seeking): Seekers {
  const random = dice(seed);
  const asking = new Set<Promise<unknown>>();
  let asked = 0;

  function askOne(place: Place): void {
    const name = `${prefix}${asked}`;
    const question = questionToward(asked % LASTING === 0 ? 'text' : place, { random, name, session: name });
    asked += 1;
    const done = ask(talking, name, question, random).finally(() => asking.delete(done));
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
