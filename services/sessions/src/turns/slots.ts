/** How many turns may run here at once: over all sessions, and for one agent (facts 2.4; counted per replica, ARCHITECTURE 9.17). */
export interface Slots {
  hasRoom(agent: string, limits: SlotLimits): boolean;
  /** False when there is none; whoever gets one gives it back. */
  take(agent: string, limits: SlotLimits): boolean;
  give(agent: string): void;
}

export interface SlotLimits {
  total: number;
  perAgent: number;
}

export function createSlots(): Slots {
  const byAgent = new Map<string, number>();
  let taken = 0;
  const hasRoom = (agent: string, limits: SlotLimits): boolean => taken < limits.total && (byAgent.get(agent) ?? 0) < limits.perAgent;
  return {
    hasRoom,
    take(agent, limits) {
      if (!hasRoom(agent, limits)) return false;
      byAgent.set(agent, (byAgent.get(agent) ?? 0) + 1);
      taken += 1;
      return true;
    },
    give(agent) {
      const left = (byAgent.get(agent) ?? 1) - 1;
      if (left === 0) byAgent.delete(agent);
      else byAgent.set(agent, left);
      taken -= 1;
    },
  };
}
