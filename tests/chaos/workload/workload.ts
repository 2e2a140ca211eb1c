import { dice } from '@switchyard/testkit';
import type { ChaosCluster } from '../cluster.ts';
import { only, type History, type Operation } from '../history.ts';
import { openDoors } from './doors.ts';
import { startListener } from './listener.ts';
import { startSeekers, type Seekers } from './seekers.ts';
import { sendRequest, talk, type Talking, type Topic } from './talker.ts';
import { churn } from './tokens.ts';

const AT_ONCE = 8;
const LISTENERS = 2;

export interface WorkloadOptions {
  seed: number;
  talkers: number;
}

/** Running clients. */
export interface Workload extends Pick<Seekers, 'seek'> {
  /** Sends no new requests. Resolves when all outcomes are known, or after the timeout. */
  finish(patienceMs: number): Promise<void>;
  /** Ends the listeners after all of them have received the event with this id. */
  silence(last: string | undefined, patienceMs: number): Promise<void>;
}

/** Pairs of talkers that share sessions, some of which are reset at times; a client that creates and revokes tokens; event listeners. */
export function startWorkload(cluster: ChaosCluster, history: History, { seed, talkers }: WorkloadOptions): Workload {
  const [stopping, over] = [new AbortController(), new AbortController()];
  const doors = Array.from({ length: talkers + 1 }, () => openDoors(cluster));
  const others = openDoors(cluster);
  const common = { history, signal: stopping.signal, over: over.signal };
  const working = doors.map((one, at) => {
    const options = { ...common, doors: one, seed: seed * 1_000 + at, name: `s${seed}c${at}` };
    if (at === talkers) return churn({ ...options, url: cluster.url });
    return talk({ ...options, topics: getTopics(`${getPrefix(seed)}${Math.floor(at / 2)}`) });
  });
  const seekers = startSeekers({ ...common, doors: others, seed, prefix: `${getPrefix(seed)}p` });
  const listeners = Array.from({ length: LISTENERS }, (_, at) => startListener({ cluster, history, name: `s${seed}l${at}` }));
  return {
    seek: (place) => seekers.seek(place),
    async silence(last, patienceMs) {
      await Promise.all(listeners.map((listener) => listener.finish(last, patienceMs)));
    },
    async finish(patienceMs) {
      stopping.abort();
      const late = setTimeout(() => over.abort(), patienceMs);
      await Promise.all([...working, seekers.finish()]).finally(() => clearTimeout(late));
      for (const one of [...doors, others]) one[Symbol.dispose]();
    },
  };
}

/** Prefix of the sessions of a run. */
export function getPrefix(seed: number): string {
  return `s${seed}-`;
}

/** The sessions that both talkers of a pair use. */
function getTopics(pair: string): Topic[] {
  return [
    { name: `${pair}-echo`, agent: 'default', emptied: false },
    { name: `${pair}-scripted`, agent: 'scripted', emptied: false },
    { name: `${pair}-narrow`, agent: 'narrow', emptied: false },
    { name: `${pair}-emptied`, agent: 'scripted', emptied: true },
  ];
}

/** Repeats every request with a key. All accepted turns must now have the same answer as before. */
export async function askAgain(cluster: ChaosCluster, history: History, done: readonly Operation[], patienceMs: number): Promise<void> {
  const over = AbortSignal.timeout(patienceMs);
  using doors = openDoors(cluster);
  const talking: Talking = { doors, history, signal: over, over };
  const questions = new Map(
    only(done, 'turn').flatMap(({ request: asked }) => (asked.key === undefined ? [] : [[asked.key, asked] as const])),
  );
  const remainingItems = [...questions.values()];
  const random = dice(1);
  const work = async (): Promise<void> => {
    for (let asked = remainingItems.shift(); asked && !over.aborted; asked = remainingItems.shift()) {
      const { door, ...question } = asked;
      await sendRequest(talking, 'again', { ...question, doors: door === 'rpc' || door === 'ws' ? ['rpc'] : ['chat', 'sse'] }, random);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
