import { dice, type Dice } from '@switchyard/testkit';

const REPLICAS = ['gateway', 'sessions', 'registry', 'secrets'].flatMap((service) => [`${service}-1`, `${service}-2`]);

/** A fault. */
export type Fault =
  /** SIGKILL: a replica, or a server by the name of its service. */
  | { kind: 'kill'; who: string }
  /** SIGSTOP, and SIGCONT after a delay. */
  | { kind: 'stop'; who: string; ms: number }
  /** Kills nats-server and deletes its store. */
  | { kind: 'wipe' }
  /** Forwards requests and drops responses; the connections break after a delay. */
  | { kind: 'lose'; where: Path; ms: number }
  /** A replica kills itself when it next reaches a point in its code. */
  | { kind: 'point'; who: string; point: Point };

/** Proxies between clients and balancer, services and database, services and bus. */
export const PATHS = ['edge', 'store', 'bus'] as const;
export type Path = (typeof PATHS)[number];

/** A fault and its delay after the previous one. */
export interface Planned {
  afterMs: number;
  fault: Fault;
}

export interface PlanOptions {
  seed: number;
  faults: number;
  /** Mean time between two faults. */
  everyMs: number;
}

/** Returns the same faults, order and delays for the same seed. */
export function planFaults({ seed, faults, everyMs }: PlanOptions): Planned[] {
  const random = dice(seed);
  return Array.from({ length: faults }, () => {
    const afterMs = Math.round(everyMs / 2 + random.below(everyMs));
    return { afterMs, fault: anyFault(random) };
  });
}

/** 70 % of the faults are kills, mostly of services, sometimes of nats-server and Redis. */
function anyFault(random: Dice): Fault {
  const n = random.below(100);
  if (n < 64) return { kind: 'kill', who: random.of(REPLICAS) };
  if (n < 68) return { kind: 'kill', who: 'nats' };
  if (n < 70) return { kind: 'kill', who: 'redis' };
  if (n < 72) return { kind: 'wipe' };
  if (n < 82) return { kind: 'stop', who: random.of(REPLICAS), ms: 300 + random.below(random.of([1_000, 9_000])) };
  if (n < 85) return { kind: 'stop', who: 'nats', ms: 200 + random.below(3_000) };
  if (n < 89) return { kind: 'stop', who: 'mongodb', ms: 200 + random.below(3_000) };
  if (n < 91) return { kind: 'stop', who: 'redis', ms: 200 + random.below(5_000) };
  return { kind: 'lose', where: random.of(PATHS), ms: 100 + random.below(1_500) };
}

/** Points before and after which a replica of sessions can be killed. */
const PLACES = ['accept', 'enter', 'claim', 'take', 'intent', 'call', 'result', 'text', 'commit', 'settle', 'publish'] as const;
export type Place = (typeof PLACES)[number];
export type Point = `${'before' | 'after'} ${Place}`;
export const POINTS: readonly Point[] = PLACES.flatMap((place): Point[] => [`before ${place}`, `after ${place}`]);

export function placeIn(point: Point): Place {
  return PLACES.find((place) => point.endsWith(` ${place}`)) ?? 'accept';
}

export interface PointOptions {
  seed: number;
  /** Number of kills per point. */
  times: number;
  everyMs: number;
  /** Default: all points. */
  of?: readonly Point[];
}

/** Every point, in an order that depends on the seed. Kills alternate between the replicas, so that one works while the other restarts. */
export function planPoints({ seed, times, everyMs, of = POINTS }: PointOptions): Planned[] {
  const random = dice(seed);
  const points = Array.from({ length: times }, () => of).flat();
  for (let at = points.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1);
    [points[at], points[other]] = [points[other]!, points[at]!];
  }
  return points.map((point, at) => {
    const fault: Fault = { kind: 'point', who: `sessions-${(at % 2) + 1}`, point };
    return { afterMs: Math.round(everyMs / 2 + random.below(everyMs)), fault };
  });
}
