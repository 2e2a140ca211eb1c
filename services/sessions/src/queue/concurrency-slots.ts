/** Slots for concurrently running turns on this replica: in total, per agent and per lane. */
export interface Slots {
  hasRoom(agent: string, limits: SlotLimits): boolean;
  /** Undefined when no slot is free. */
  take(agent: string, limits: SlotLimits): Slot | undefined;
}

/** Permission to run one turn. Must be released exactly once. */
export interface Slot {
  release(): void;
}

export interface SlotLimits {
  total: number;
  perAgent: number;
  /** Lane of the turn, if lanes are configured. */
  lane?: { name: string; max: number } | undefined;
}

export function createSlots(): Slots {
  const [byAgent, byLane] = [new Map<string, number>(), new Map<string, number>()];
  let takenCount = 0;

  const hasRoom = (agent: string, { total, perAgent, lane }: SlotLimits): boolean =>
    takenCount < total && (byAgent.get(agent) ?? 0) < perAgent && (lane === undefined || (byLane.get(lane.name) ?? 0) < lane.max);

  return {
    hasRoom,
    take(agent, limits) {
      if (!hasRoom(agent, limits)) return undefined;
      add(byAgent, agent, 1);
      if (limits.lane) add(byLane, limits.lane.name, 1);
      takenCount += 1;
      return {
        release() {
          add(byAgent, agent, -1);
          if (limits.lane) add(byLane, limits.lane.name, -1);
          takenCount -= 1;
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
