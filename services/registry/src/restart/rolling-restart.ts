import { MAX, type RollingRestart } from '@switchyard/contracts';
import { countReady, readyFor, serviceOf, type LiveProcess } from './live-processes.ts';

export interface Plan {
  id: string;
  by: string;
  now: number;
}

export interface Seen {
  live: readonly LiveProcess[];
  now: number;
  /** How long one may take to leave, to be started by whoever keeps it alive, and to be ready; then all of it is stopped. */
  longestMs: number;
  /** How long a gateway that is there again is given to be seen by load balancers before the next one leaves. */
  settleMs: number;
}

/** Everybody, one after the other: first who cannot work, the edge last. */
export function planRestart(live: readonly LiveProcess[], { id, by, now }: Plan): RollingRestart {
  const order = (one: LiveProcess): string => `${one.ready ? 1 : 0}${hasEdge(one) ? 1 : 0}${one.replicas[0] ?? ''}`;
  const waiting = live
    .toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
    .slice(0, MAX.many)
    .map(({ process, replicas }) => ({ process, replicas }));
  return { id, by, since: now, movedAt: now, state: 'running', ready: countReady(live), restarted: [], waiting };
}

/**
 * The next step as far as it can be seen; undefined while there is something to wait for. What it decides depends on nothing but what
 * is written and who lives, so that any replica of the registry may do it, and whoever dies leaves nothing undone.
 */
export function nextStep(restart: RollingRestart, seen: Seen): RollingRestart | undefined {
  if (restart.state !== 'running') return undefined;
  const step = restart.turn === undefined ? begin(restart, seen) : finish(restart, restart.turn, seen);
  if (typeof step !== 'string') return { ...step, movedAt: seen.now };
  if (seen.now - restart.movedAt < seen.longestMs) return undefined;
  return { ...restart, state: 'stopped', reason: `not within ${Math.round(seen.longestMs / 1_000)} s: ${step}`.slice(0, MAX.line) };
}

/** Tells the next one to leave, or says what is missing. Who is not there any more needs no restart. */
function begin(restart: RollingRestart, { live }: Seen): RollingRestart | string {
  const [next, ...waiting] = restart.waiting.filter(({ process }) => live.some((one) => one.process === process));
  if (next === undefined) return { ...restart, waiting: [], state: 'done' };
  const others = live.filter(({ process }) => process !== next.process);
  const self = others.length < live.length && live.some((one) => one.process === next.process && one.ready) ? 1 : 0;
  const services = next.replicas.map(serviceOf);
  const short = services.find((service) => readyFor(others, service) < (restart.ready[service] ?? 0) - self);
  if (short !== undefined) return `${short} has not as many replicas that can work as it had before`;
  const needs = Object.fromEntries(services.map((service) => [service, readyFor(others, service) + 1]));
  return { ...restart, waiting, turn: { ...next, needs } };
}

/** Goes on once another one has taken its place, or says what is missing. */
function finish(restart: RollingRestart, turn: NonNullable<RollingRestart['turn']>, seen: Seen): RollingRestart | string {
  const { live, now, settleMs } = seen;
  const name = turn.replicas.join(', ');
  if (live.some(({ process }) => process === turn.process)) return `${name} did not leave`;
  const back = Object.entries(turn.needs).every(([service, count]) => readyFor(live, service) >= count);
  if (!back) return `${name} left, and is not there again and ready`;
  if (turn.replicas.some((replica) => serviceOf(replica) === 'gateway')) {
    if (turn.backAt === undefined) return { ...restart, turn: { ...turn, backAt: now } };
    if (now - turn.backAt < settleMs) return `${name} is there again, and was gone before anybody could see it`;
  }
  const { turn: _over, ...rest } = restart;
  return { ...rest, restarted: [...restart.restarted, ...turn.replicas].slice(-MAX.many) };
}

function hasEdge({ services }: LiveProcess): boolean {
  return services.includes('gateway');
}
