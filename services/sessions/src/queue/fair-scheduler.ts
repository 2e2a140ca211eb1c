import { LRUCache } from 'lru-cache';
import { bucketKeyParts } from '@switchyard/contracts';
import { parseAgentKey } from '../model/queue-entry.ts';

/** Maximum number of tenants, and of agents, whose last turn is cached; the least recently served is evicted first. */
const MAX_CACHED_NAMES = 10_000;

/** Agents and lanes with waiting turns, as far as this replica knows. Keys are wait keys (`formatWaitsFor`). */
export interface FairScheduler {
  /** Records that turns of this agent and lane may be waiting. */
  add(waitsFor: string): void;
  has(waitsFor: string): boolean;
  /**
   * Returns the next key with free capacity: least recently served tenant first, then least recently served agent of that tenant, then the
   * lane that is ahead. A tenant that was never served comes first, so light users are not delayed by heavy ones.
   */
  next(hasRoom: (waitsFor: string) => boolean): string | undefined;
  /** Removes a key whose poll found nothing and restores its turn. A key that was added after the poll began stays. */
  remove(waitsFor: string, lookedAt: number): void;
  /** Increases with each addition. */
  readonly time: number;
  readonly size: number;
}

/** Scheduling state of an agent with waiting turns. */
interface WaitingAgent {
  addedAt: number;
  /** Last turns of tenant and agent before the current one, to restore them when nothing was found. */
  previousTurns: readonly [tenant: number, agent: number];
}

/** `isAhead` compares two lanes of the same agent. */
export function createFairScheduler(isAhead: (one: string, other: string) => boolean = () => false): FairScheduler {
  const tenants = new Map<string, Map<string, WaitingAgent>>();
  const [tenantTurns, agentTurns] = [createLastTurns(), createLastTurns()];
  let time = 0;
  let turns = 0;
  let size = 0;

  return {
    add(waitsFor) {
      const tenant = getTenant(waitsFor);
      let agents = tenants.get(tenant);
      if (!agents) tenants.set(tenant, (agents = new Map()));
      const existing = agents.get(waitsFor);
      time += 1;
      if (existing) existing.addedAt = time;
      else {
        agents.set(waitsFor, { addedAt: time, previousTurns: [tenantTurns.get(tenant), agentTurns.get(parseAgentKey(waitsFor))] });
        size += 1;
      }
    },
    has: (waitsFor) => tenants.get(getTenant(waitsFor))?.has(waitsFor) ?? false,
    next(hasRoom) {
      let first: { tenant: string; waitsFor: string; at: number } | undefined;
      for (const [tenant, agents] of tenants) {
        const at = tenantTurns.get(tenant);
        if (first && at >= first.at) continue;
        const waitsFor = leastRecentlyServed(agents.keys(), { turns: agentTurns, hasRoom, ahead: isAhead });
        if (waitsFor !== undefined) first = { tenant, waitsFor, at };
      }
      if (!first) return undefined;
      const { tenant, waitsFor, at } = first;
      const waiting = tenants.get(tenant)?.get(waitsFor);
      if (waiting) waiting.previousTurns = [at, agentTurns.get(parseAgentKey(waitsFor))];
      turns += 1;
      tenantTurns.set(tenant, turns);
      agentTurns.set(parseAgentKey(waitsFor), turns);
      return waitsFor;
    },
    remove(waitsFor, lookedAt) {
      const tenant = getTenant(waitsFor);
      const agents = tenants.get(tenant);
      const waiting = agents?.get(waitsFor);
      if (!agents || !waiting) return;
      tenantTurns.set(tenant, waiting.previousTurns[0]);
      agentTurns.set(parseAgentKey(waitsFor), waiting.previousTurns[1]);
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

/** Time of the last turn by name, as a counter; 0 if never served. */
interface LastTurns {
  get(name: string): number;
  set(name: string, turn: number): void;
}

function createLastTurns(): LastTurns {
  const last = new LRUCache<string, number>({ maxSize: MAX_CACHED_NAMES, sizeCalculation: () => 1 });
  return {
    // A read does not make an entry more recent.
    get: (name) => last.peek(name) ?? 0,
    set(name, turn) {
      if (turn > 0) last.set(name, turn);
      else last.delete(name);
    },
  };
}

interface SelectOptions {
  turns: LastTurns;
  hasRoom: (name: string) => boolean;
  ahead: (one: string, other: string) => boolean;
}

function leastRecentlyServed(names: Iterable<string>, { turns, hasRoom, ahead }: SelectOptions): string | undefined {
  let first: { name: string; agent: string; at: number } | undefined;
  for (const name of names) {
    const agent = parseAgentKey(name);
    const at = turns.get(agent);
    if (first && (agent === first.agent ? !ahead(name, first.name) : at >= first.at)) continue;
    if (hasRoom(name)) first = { name, agent, at };
  }
  return first?.name;
}

function getTenant(waitsFor: string): string {
  return bucketKeyParts(parseAgentKey(waitsFor))?.tenant ?? '';
}
