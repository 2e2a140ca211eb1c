import { createAgenda } from './agenda.ts';
import { createRandom, type Random } from './random.ts';
import { createWaitingLines } from './waiting-lines.ts';

/** A cluster and its load. Times are in milliseconds. */
export interface Scenario {
  seed: number;
  replicas: number;
  /** Slots of a replica, in total and per tenant. */
  slots: number;
  slotsOfTenant: number;
  tenants: number;
  /** Skew of the load: the n-th tenant has n^-skew times the rate of the first. */
  skew: number;
  /** Offered load as a share of the total capacity. */
  load: number;
  meanMs: number;
  /** Delay until a replica is notified of work, and polling interval of each replica. */
  wakeMs: number;
  sweepMs: number;
  /** Maximum number of queued turns per tenant; further turns are rejected. */
  depth: number;
  order: Order;
  lengthMs: number;
}

/**
 * How a replica with a free slot picks the next turn. `longest-ago` (the product): from the tenant that it served least recently.
 * `circle`: all replicas visit the tenants in the same order. `oldest-first`: the oldest turn of all tenants.
 */
export type Order = 'longest-ago' | 'circle' | 'oldest-first';

export interface Outcome {
  /** By tenant, in descending order of load. */
  tenants: readonly TenantOutcome[];
  /** Mean number of tenants with queued turns, as seen by arriving turns. */
  linesSeen: number;
  /** Mean share of busy slots. */
  busy: number;
}

export interface TenantOutcome {
  /** Mean arrival rate in turns per millisecond. */
  demand: number;
  refused: number;
  /** Wait of each started turn, in milliseconds. */
  waits: number[];
}

type SimulatedEvent =
  | { kind: 'arrives' }
  | { kind: 'ends'; replica: number; tenant: number }
  | { kind: 'looks'; replica: number; again: boolean };

interface Replica {
  running: number;
  readonly ofTenant: Map<number, number>;
  /** Time of the last service per tenant, and the tenant served last. */
  readonly servedAt: Float64Array;
  last: number;
}

interface Turn {
  tenant: number;
  cameAt: number;
}

/** Simulates one run. The same scenario gives the same outcome. */
export function simulate(scenario: Scenario): Outcome {
  const { replicas, slots, slotsOfTenant, lengthMs, meanMs, wakeMs, sweepMs } = scenario;
  const random = createRandom(scenario.seed);
  const agenda = createAgenda<SimulatedEvent>();
  const waiting = createWaitingLines<Turn>();
  const getLine = scenario.order === 'oldest-first' ? () => 0 : (tenant: number) => tenant;
  const { tenants, pick, everyMs } = createTenants(scenario, random);
  const cluster = Array.from({ length: replicas }, () => createReplica(tenants.length, random));
  let now = 0;
  let busyMs = 0;
  let linesSeen = 0;
  let came = 0;

  const hasRoom = ({ running, ofTenant }: Replica, tenant: number): boolean =>
    running < slots && (ofTenant.get(tenant) ?? 0) < slotsOfTenant;

  function start(replica: number, { tenant, cameAt }: Turn): void {
    const { ofTenant } = changeBusySlots(cluster[replica]!, 1);
    ofTenant.set(tenant, (ofTenant.get(tenant) ?? 0) + 1);
    tenants[tenant]!.waits.push(now - cameAt);
    const workMs = random.exponential(meanMs);
    busyMs += Math.min(workMs, lengthMs - now);
    agenda.add(now + workMs, { kind: 'ends', replica, tenant });
  }

  function look(replica: number): void {
    const one = cluster[replica]!;
    const rank = rankBy(scenario.order, one);
    while (one.running < slots) {
      const next = waiting.take(rank, ({ tenant }) => hasRoom(one, tenant));
      if (next === undefined) return;
      one.last = next.key;
      one.servedAt[next.key] = now;
      start(replica, next.item);
    }
  }

  /** A random replica accepts the turn. It starts there, unless turns of its tenant are already queued. */
  function arrive(): void {
    const turn = { tenant: pick(), cameAt: now };
    const replica = random.below(replicas);
    const line = getLine(turn.tenant);
    came++;
    linesSeen += waiting.lines;
    if (waiting.length(line) === 0 && hasRoom(cluster[replica]!, turn.tenant)) return start(replica, turn);
    if (waiting.length(line) >= scenario.depth) return void tenants[turn.tenant]!.refused++;
    waiting.push(line, turn);
    agenda.add(now + wakeMs, { kind: 'looks', replica: random.below(replicas), again: false });
  }

  function happen(what: SimulatedEvent): void {
    if (what.kind === 'arrives') {
      arrive();
      return agenda.add(now + random.exponential(everyMs), what);
    }
    if (what.kind === 'ends') {
      const { ofTenant } = changeBusySlots(cluster[what.replica]!, -1);
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

function changeBusySlots(replica: Replica, slots: 1 | -1): Replica {
  replica.running += slots;
  return replica;
}

function createReplica(tenants: number, random: Random): Replica {
  // Initially all tenants are equal, and each replica has a random order.
  return {
    running: 0,
    ofTenant: new Map(),
    servedAt: Float64Array.from({ length: tenants }, () => -random.next()),
    last: random.below(tenants),
  };
}

function rankBy(order: Order, replica: Replica): (line: number) => number {
  const { servedAt } = replica;
  if (order !== 'circle') return (line) => servedAt[line]!;
  return (line) => (line > replica.last ? line : line + servedAt.length);
}

/** Creates the tenants with their rates, and a sampler for the tenant of the next arrival. */
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
