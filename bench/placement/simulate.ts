import { createAgenda } from './agenda.ts';
import { createRandom, type Random } from './random.ts';
import { createWaitingLines } from './waiting-lines.ts';

/** A cluster and what is asked of it. Times are milliseconds. */
export interface Scenario {
  seed: number;
  replicas: number;
  /** How many turns a replica runs at once, in all and of one tenant. */
  slots: number;
  slotsOfTenant: number;
  tenants: number;
  /** How unequal they are: the n-th asks n^-skew times as often as the first. */
  skew: number;
  /** What is asked for, as a share of what all slots can do. */
  load: number;
  meanMs: number;
  /** How long until one replica hears that there is work, and how often each looks for itself. */
  wakeMs: number;
  sweepMs: number;
  /** How many turns of a tenant may wait; more are refused. */
  depth: number;
  order: Order;
  lengthMs: number;
}

/**
 * Who is next on a replica that has room. `longest-ago`, as the product does it: the tenant that it served longest ago. `circle`: all
 * replicas go round the tenants in the same order. `oldest-first`: the turn that came first, whoever's it is.
 */
export type Order = 'longest-ago' | 'circle' | 'oldest-first';

export interface Outcome {
  /** By tenant, the one that asks most first. */
  tenants: readonly TenantOutcome[];
  /** How many lines had somebody in them, on average over those who came. */
  linesSeen: number;
  /** What share of all slots worked, on average. */
  busy: number;
}

export interface TenantOutcome {
  /** How many turns it asks for in a millisecond, in the mean. */
  demand: number;
  refused: number;
  /** How long each turn waited that began, in milliseconds. */
  waits: number[];
}

type Happening =
  | { kind: 'arrives' }
  | { kind: 'ends'; replica: number; tenant: number }
  | { kind: 'looks'; replica: number; again: boolean };

interface Replica {
  running: number;
  readonly ofTenant: Map<number, number>;
  /** When it served each line last, and which one it served last of all. */
  readonly servedAt: Float64Array;
  last: number;
}

interface Turn {
  tenant: number;
  cameAt: number;
}

/** Plays one run; the same scenario gives the same outcome. */
export function simulate(scenario: Scenario): Outcome {
  const { replicas, slots, slotsOfTenant, lengthMs, meanMs, wakeMs, sweepMs } = scenario;
  const random = createRandom(scenario.seed);
  const agenda = createAgenda<Happening>();
  const waiting = createWaitingLines<Turn>();
  const lineOf = scenario.order === 'oldest-first' ? () => 0 : (tenant: number) => tenant;
  const { tenants, pick, everyMs } = createTenants(scenario, random);
  const cluster = Array.from({ length: replicas }, () => createReplica(tenants.length, random));
  let now = 0;
  let busyMs = 0;
  let linesSeen = 0;
  let came = 0;

  const hasRoom = ({ running, ofTenant }: Replica, tenant: number): boolean =>
    running < slots && (ofTenant.get(tenant) ?? 0) < slotsOfTenant;

  function start(replica: number, { tenant, cameAt }: Turn): void {
    const { ofTenant } = take(cluster[replica]!, 1);
    ofTenant.set(tenant, (ofTenant.get(tenant) ?? 0) + 1);
    tenants[tenant]!.waits.push(now - cameAt);
    const workMs = random.exponential(meanMs);
    busyMs += Math.min(workMs, lengthMs - now);
    agenda.add(now + workMs, { kind: 'ends', replica, tenant });
  }

  function look(replica: number): void {
    const one = cluster[replica]!;
    const rank = rankOf(scenario.order, one);
    while (one.running < slots) {
      const next = waiting.take(rank, ({ tenant }) => hasRoom(one, tenant));
      if (next === undefined) return;
      one.last = next.key;
      one.servedAt[next.key] = now;
      start(replica, next.item);
    }
  }

  /** A turn is accepted by whichever replica the bus chooses. It begins there, unless somebody of its tenant waits already. */
  function arrive(): void {
    const turn = { tenant: pick(), cameAt: now };
    const replica = random.below(replicas);
    const line = lineOf(turn.tenant);
    came++;
    linesSeen += waiting.lines;
    if (waiting.length(line) === 0 && hasRoom(cluster[replica]!, turn.tenant)) return start(replica, turn);
    if (waiting.length(line) >= scenario.depth) return void tenants[turn.tenant]!.refused++;
    waiting.push(line, turn);
    agenda.add(now + wakeMs, { kind: 'looks', replica: random.below(replicas), again: false });
  }

  function happen(what: Happening): void {
    if (what.kind === 'arrives') {
      arrive();
      return agenda.add(now + random.exponential(everyMs), what);
    }
    if (what.kind === 'ends') {
      const { ofTenant } = take(cluster[what.replica]!, -1);
      ofTenant.set(what.tenant, ofTenant.get(what.tenant)! - 1);
    }
    look(what.replica);
    if (what.kind === 'looks' && what.again) agenda.add(now + sweepMs, what);
  }

  agenda.add(0, { kind: 'arrives' });
  for (let replica = 0; replica < replicas; replica++) agenda.add(random.next() * sweepMs, { kind: 'looks', replica, again: true });
  for (let next = agenda.next(); next !== undefined && next.at < lengthMs; next = agenda.next()) {
    now = next.at;
    happen(next.what);
  }
  return { tenants, linesSeen: linesSeen / came, busy: busyMs / (lengthMs * replicas * slots) };
}

function take(replica: Replica, slots: 1 | -1): Replica {
  replica.running += slots;
  return replica;
}

function createReplica(tenants: number, random: Random): Replica {
  // Before it has served anybody, all are equal, and each replica has an order of its own.
  return {
    running: 0,
    ofTenant: new Map(),
    servedAt: Float64Array.from({ length: tenants }, () => -random.next()),
    last: random.below(tenants),
  };
}

function rankOf(order: Order, replica: Replica): (line: number) => number {
  const { servedAt } = replica;
  if (order !== 'circle') return (line) => servedAt[line]!;
  return (line) => (line > replica.last ? line : line + servedAt.length);
}

/** How often each asks, and who asks next. */
function createTenants(
  { tenants: count, skew, load, replicas, slots, meanMs }: Scenario,
  random: Random,
): { tenants: TenantOutcome[]; pick: () => number; everyMs: number } {
  const weights = Array.from({ length: count }, (_, n) => (n + 1) ** -skew);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const perMs = (load * replicas * slots) / meanMs;
  const upTo: number[] = [];
  weights.reduce((sum, weight) => (upTo.push(sum + weight), sum + weight), 0);
  return {
    tenants: weights.map((weight) => ({ demand: (weight / total) * perMs, refused: 0, waits: [] })),
    everyMs: 1 / perMs,
    pick() {
      const at = random.next() * total;
      let [low, high] = [0, count - 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (upTo[middle]! <= at) low = middle + 1;
        else high = middle;
      }
      return low;
    },
  };
}
