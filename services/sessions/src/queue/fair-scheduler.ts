import { LRUCache } from 'lru-cache';
import { parseWaitsFor } from '../model/queue-entry.ts';

/** Maximum number of tenants, of clients and of agents whose last turn is cached; the least recently served is evicted first. */
const MAX_CACHED_NAMES = 10_000;

/** Agents, clients and lanes with waiting turns, as far as this replica knows. Keys are wait keys (`formatWaitsFor`). */
export interface FairScheduler {
  /** Records that turns of this key may be waiting. */
  add(waitsFor: string): void;
  has(waitsFor: string): boolean;
  /**
   * Returns the next key with free capacity: least recently served tenant first, then least recently served client of that tenant, then
   * least recently served agent of that client, then the lane that is ahead. Names that were never served come first, so light users are
   * not delayed by heavy ones.
   */
  next(hasRoom: (waitsFor: string) => boolean): string | undefined;
  /** Returns whether another key of the agent, which has free capacity, is waiting. */
  isAnyWaiting(waitsFor: string, hasRoom: (waitsFor: string) => boolean): boolean;
  /** Removes a key whose poll found nothing and restores its turn. A key that was added after the poll began stays. */
  remove(waitsFor: string, lookedAt: number): void;
  /** Increases with each addition. */
  readonly time: number;
  readonly size: number;
}

/** Last turns of a tenant, a client of it, and an agent of that client. */
type Turns = readonly [tenant: number, client: number, agent: number];

/** Scheduling state of a key with waiting turns. */
interface Waiting {
  waitsFor: string;
  /** Names under which the last turns are cached. */
  names: readonly [tenant: string, client: string, agent: string];
  agentId: string;
  addedAt: number;
  /** Last turns before the current one, to restore them when nothing was found. */
  previousTurns: Turns;
}

/** `isAhead` compares two lanes of the same client and agent. */
export function createFairScheduler(isAhead: (one: string, other: string) => boolean = () => false): FairScheduler {
  const tenants = new Map<string, Map<string, Waiting>>();
  const lastTurns = [createLastTurns(), createLastTurns(), createLastTurns()] as const;
  let time = 0;
  let turns = 0;
  let size = 0;

  const getTurns = ({ names }: Pick<Waiting, 'names'>): Turns => [
    lastTurns[0].get(names[0]),
    lastTurns[1].get(names[1]),
    lastTurns[2].get(names[2]),
  ];
  const setTurns = ({ names }: Waiting, [tenant, client, agent]: Turns): void => {
    lastTurns[0].set(names[0], tenant);
    lastTurns[1].set(names[1], client);
    lastTurns[2].set(names[2], agent);
  };
  const find = (waitsFor: string): Waiting | undefined => tenants.get(parseWaitsFor(waitsFor).tenant)?.get(waitsFor);

  function findFirst(keys: Iterable<Waiting>, hasRoom: (waitsFor: string) => boolean): Waiting | undefined {
    let first: { waiting: Waiting; at: Turns } | undefined;
    for (const waiting of keys) {
      const at = getTurns(waiting);
      const order = first ? at[1] - first.at[1] || at[2] - first.at[2] : -1;
      if (first && isSameAgent(waiting, first.waiting) ? !isAhead(waiting.waitsFor, first.waiting.waitsFor) : order >= 0) continue;
      if (hasRoom(waiting.waitsFor)) first = { waiting, at };
    }
    return first?.waiting;
  }

  return {
    add(waitsFor) {
      const { tenant, client, agentId } = parseWaitsFor(waitsFor);
      let keys = tenants.get(tenant);
      if (!keys) tenants.set(tenant, (keys = new Map()));
      const existing = keys.get(waitsFor);
      time += 1;
      if (existing) existing.addedAt = time;
      else {
        const names = [tenant, `${tenant} ${client}`, `${tenant} ${client} ${agentId}`] as const;
        keys.set(waitsFor, { waitsFor, names, agentId, addedAt: time, previousTurns: getTurns({ names }) });
        size += 1;
      }
    },
    has: (waitsFor) => find(waitsFor) !== undefined,
    next(hasRoom) {
      let first: { waiting: Waiting; at: number } | undefined;
      for (const [tenant, keys] of tenants) {
        const at = lastTurns[0].get(tenant);
        if (first && at >= first.at) continue;
        const waiting = findFirst(keys.values(), hasRoom);
        if (waiting) first = { waiting, at };
      }
      if (!first) return undefined;
      const { waiting } = first;
      waiting.previousTurns = getTurns(waiting);
      turns += 1;
      setTurns(waiting, [turns, turns, turns]);
      return waiting.waitsFor;
    },
    isAnyWaiting(waitsFor, hasRoom) {
      const { tenant, agentId } = parseWaitsFor(waitsFor);
      for (const other of tenants.get(tenant)?.values() ?? []) {
        if (other.agentId === agentId && other.waitsFor !== waitsFor && hasRoom(other.waitsFor)) return true;
      }
      return false;
    },
    remove(waitsFor, lookedAt) {
      const waiting = find(waitsFor);
      if (!waiting) return;
      setTurns(waiting, waiting.previousTurns);
      if (waiting.addedAt > lookedAt) return;
      const [tenant] = waiting.names;
      const keys = tenants.get(tenant);
      keys?.delete(waitsFor);
      size -= 1;
      if (keys?.size === 0) tenants.delete(tenant);
    },
    get time() {
      return time;
    },
    get size() {
      return size;
    },
  };
}

function isSameAgent(one: Waiting, other: Waiting): boolean {
  return one.names[2] === other.names[2];
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
