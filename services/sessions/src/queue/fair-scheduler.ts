import { LRUCache } from 'lru-cache';
import { bucketKeyParts } from '@switchyard/contracts';
import { agentKeyOf } from '../model/queue-entry.ts';

/** Maximum number of tenants, and of agents, whose last turn is cached; the least recently served is evicted first. */
const MAX_CACHED_NAMES = 10_000;

/** For which agents turns wait, and in which lanes (`waitsForOf`), as far as this replica knows. */
export interface Rota {
  /** Turns of this agent may be waiting, in this lane. */
  add(waitsFor: string): void;
  has(waitsFor: string): boolean;
  /**
   * The next one of those with room: of the tenant that had its turn here longest ago, the agent that had. Who had none yet comes
   * first. So whoever asks little is served at once, however many wait of those who ask much. Of the lanes of an agent the one that is
   * ahead of the others.
   */
  next(hasRoom: (waitsFor: string) => boolean): string | undefined;
  /** Looked, and nothing waited, so it had no turn; what was added since it was looked for stays. */
  remove(waitsFor: string, lookedAt: number): void;
  /** Grows with each addition. */
  readonly time: number;
  readonly size: number;
}

/** What is known of an agent that turns wait for. */
interface Waiting {
  addedAt: number;
  /** When its tenant and itself had had their turn, before it was given the one that is under way. */
  before: readonly [tenant: number, agent: number];
}

/** `ahead`: whether one lane of an agent comes before another. */
export function createRota(ahead: (one: string, other: string) => boolean = () => false): Rota {
  const tenants = new Map<string, Map<string, Waiting>>();
  const [tenantTurns, agentTurns] = [createTurns(), createTurns()];
  let time = 0;
  let turns = 0;
  let size = 0;

  return {
    add(waitsFor) {
      const tenant = tenantOf(waitsFor);
      let agents = tenants.get(tenant);
      if (!agents) tenants.set(tenant, (agents = new Map()));
      const there = agents.get(waitsFor);
      time += 1;
      if (there) there.addedAt = time;
      else {
        agents.set(waitsFor, { addedAt: time, before: [tenantTurns.of(tenant), agentTurns.of(agentKeyOf(waitsFor))] });
        size += 1;
      }
    },
    has: (waitsFor) => tenants.get(tenantOf(waitsFor))?.has(waitsFor) ?? false,
    next(hasRoom) {
      let first: { tenant: string; waitsFor: string; at: number } | undefined;
      for (const [tenant, agents] of tenants) {
        const at = tenantTurns.of(tenant);
        if (first && at >= first.at) continue;
        const waitsFor = longestAgo(agents.keys(), { turns: agentTurns, may: hasRoom, ahead });
        if (waitsFor !== undefined) first = { tenant, waitsFor, at };
      }
      if (!first) return undefined;
      const { tenant, waitsFor, at } = first;
      const waiting = tenants.get(tenant)?.get(waitsFor);
      if (waiting) waiting.before = [at, agentTurns.of(agentKeyOf(waitsFor))];
      turns += 1;
      tenantTurns.set(tenant, turns);
      agentTurns.set(agentKeyOf(waitsFor), turns);
      return waitsFor;
    },
    remove(waitsFor, lookedAt) {
      const tenant = tenantOf(waitsFor);
      const agents = tenants.get(tenant);
      const waiting = agents?.get(waitsFor);
      if (!agents || !waiting) return;
      tenantTurns.set(tenant, waiting.before[0]);
      agentTurns.set(agentKeyOf(waitsFor), waiting.before[1]);
      if (waiting.addedAt > lookedAt) return;
      agents.delete(waitsFor);
      size -= 1;
      if (agents.size === 0) tenants.delete(tenant);
    },
    get time() {
      return time;
    },
    get size() {
      return size;
    },
  };
}

/** When each had its turn last, as a number that grows; 0 for never. */
interface Turns {
  of(name: string): number;
  set(name: string, turn: number): void;
}

function createTurns(): Turns {
  const last = new LRUCache<string, number>({ maxSize: MAX_CACHED_NAMES, sizeCalculation: () => 1 });
  return {
    // Reading is no turn, so it does not make an entry more recent.
    of: (name) => last.peek(name) ?? 0,
    set(name, turn) {
      if (turn > 0) last.set(name, turn);
      else last.delete(name);
    },
  };
}

interface Choosing {
  turns: Turns;
  may: (name: string) => boolean;
  ahead: (one: string, other: string) => boolean;
}

function longestAgo(names: Iterable<string>, { turns, may, ahead }: Choosing): string | undefined {
  let first: { name: string; agent: string; at: number } | undefined;
  for (const name of names) {
    const agent = agentKeyOf(name);
    const at = turns.of(agent);
    if (first && (agent === first.agent ? !ahead(name, first.name) : at >= first.at)) continue;
    if (may(name)) first = { name, agent, at };
  }
  return first?.name;
}

function tenantOf(waitsFor: string): string {
  return bucketKeyParts(agentKeyOf(waitsFor))?.tenant ?? '';
}
