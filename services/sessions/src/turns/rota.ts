import { bucketKeyParts } from '@switchyard/contracts';

/** For which agents (`bucketKey`) turns wait, as far as this replica knows: tenants take turns, and in each its agents do. */
export interface Rota {
  /** Turns of this agent may be waiting. */
  add(waitsFor: string): void;
  has(waitsFor: string): boolean;
  /** The next one of those with room, which is then the last in line. */
  next(hasRoom: (waitsFor: string) => boolean): string | undefined;
  /** Looked, and nothing waited; what was added since it was looked for stays. */
  remove(waitsFor: string, lookedAt: number): void;
  /** Grows with each addition. */
  readonly time: number;
  readonly size: number;
}

export function createRota(): Rota {
  /** Tenants in turn, and of each its agents in turn, with the time when they were added last. */
  const tenants = new Map<string, Map<string, number>>();
  let time = 0;
  let size = 0;

  return {
    add(waitsFor) {
      const tenant = tenantOf(waitsFor);
      let agents = tenants.get(tenant);
      if (!agents) tenants.set(tenant, (agents = new Map()));
      if (!agents.has(waitsFor)) size += 1;
      agents.set(waitsFor, ++time);
    },
    has: (waitsFor) => tenants.get(tenantOf(waitsFor))?.has(waitsFor) ?? false,
    next(hasRoom) {
      for (const [tenant, agents] of tenants) {
        for (const [waitsFor, addedAt] of agents) {
          if (!hasRoom(waitsFor)) continue;
          toTheEnd(agents, waitsFor, addedAt);
          toTheEnd(tenants, tenant, agents);
          return waitsFor;
        }
      }
      return undefined;
    },
    remove(waitsFor, lookedAt) {
      const tenant = tenantOf(waitsFor);
      const agents = tenants.get(tenant);
      const addedAt = agents?.get(waitsFor);
      if (!agents || addedAt === undefined || addedAt > lookedAt) return;
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

function tenantOf(waitsFor: string): string {
  return bucketKeyParts(waitsFor)?.tenant ?? '';
}

function toTheEnd<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
}
