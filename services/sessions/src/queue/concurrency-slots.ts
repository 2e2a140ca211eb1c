/** How many turns may run here at once: over all sessions, for one agent, and in one lane, counted by each replica for itself. */
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
  /** The lane of the turn, where there are any. */
  lane?: { name: string; most: number } | undefined;
}

export function createSlots(): Slots {
  const [byAgent, byLane] = [new Map<string, number>(), new Map<string, number>()];
  let taken = 0;

  const hasRoom = (agent: string, { total, perAgent, lane }: SlotLimits): boolean =>
    taken < total && (byAgent.get(agent) ?? 0) < perAgent && (lane === undefined || (byLane.get(lane.name) ?? 0) < lane.most);

  return {
    hasRoom,
    take(agent, limits) {
      if (!hasRoom(agent, limits)) return undefined;
      add(byAgent, agent, 1);
      if (limits.lane) add(byLane, limits.lane.name, 1);
      taken += 1;
      return {
        give() {
          add(byAgent, agent, -1);
          if (limits.lane) add(byLane, limits.lane.name, -1);
          taken -= 1;
        },
      };
    },
  };
}

function add(counts: Map<string, number>, name: string, change: number): void {
  const count = (counts.get(name) ?? 0) + change;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
