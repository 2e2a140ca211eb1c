/** How many turns may run here at once: over all sessions, and for one agent, counted by each replica for itself. */
export interface Slots {
  hasRoom(agent: string, limits: SlotLimits): boolean;
  /** Undefined when there is none. */
  take(agent: string, limits: SlotLimits): Slot | undefined;
}

/** The right to run one turn of an agent. Whoever has it gives it back, once. */
export interface Slot {
  give(): void;
}

export interface SlotLimits {
  total: number;
  perAgent: number;
}

export function createSlots(): Slots {
  const byAgent = new Map<string, number>();
  let taken = 0;

  const hasRoom = (agent: string, { total, perAgent }: SlotLimits): boolean => taken < total && (byAgent.get(agent) ?? 0) < perAgent;

  function give(agent: string): void {
    const left = (byAgent.get(agent) ?? 1) - 1;
    if (left === 0) byAgent.delete(agent);
    else byAgent.set(agent, left);
    taken -= 1;
  }

  return {
    hasRoom,
    take(agent, limits) {
      if (!hasRoom(agent, limits)) return undefined;
      byAgent.set(agent, (byAgent.get(agent) ?? 0) + 1);
      taken += 1;
      return { give: () => give(agent) };
    },
  };
}
