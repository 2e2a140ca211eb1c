/** How many turns may run here at once: over all sessions, and for one agent, counted by each replica for itself. */
export interface Slots {
  hasRoom(agent: string, limits: SlotLimits): boolean;
  /** Whether nobody has room. */
  full(total: number): boolean;
  /** Undefined when there is none. */
  take(agent: string, limits: SlotLimits): Slot | undefined;
}

/** The right to run one turn. Whoever has it gives it back, once. */
export interface Slot {
  /** True when somebody found no room since room was last made: there may be a turn to start. */
  give(): boolean;
}

export interface SlotLimits {
  total: number;
  perAgent: number;
}

export function createSlots(): Slots {
  const byAgent = new Map<string, number>();
  let taken = 0;
  let wanted = false;

  function full(total: number): boolean {
    if (taken < total) return false;
    wanted = true;
    return true;
  }

  function hasRoom(agent: string, { total, perAgent }: SlotLimits): boolean {
    if (full(total)) return false;
    if ((byAgent.get(agent) ?? 0) < perAgent) return true;
    wanted = true;
    return false;
  }

  function give(agent: string): boolean {
    const left = (byAgent.get(agent) ?? 1) - 1;
    if (left === 0) byAgent.delete(agent);
    else byAgent.set(agent, left);
    taken -= 1;
    const waited = wanted;
    wanted = false;
    return waited;
  }

  return {
    full,
    hasRoom,
    take(agent, limits) {
      if (!hasRoom(agent, limits)) return undefined;
      byAgent.set(agent, (byAgent.get(agent) ?? 0) + 1);
      taken += 1;
      return { give: () => give(agent) };
    },
  };
}
