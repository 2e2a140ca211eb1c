/** Slots for concurrently running turns on this replica. Each turn counts against several limits. */
export interface Slots {
  hasRoom(limits: readonly SlotLimit[]): boolean;
  /** Undefined when a limit is reached. */
  take(limits: readonly SlotLimit[]): Slot | undefined;
}

/** Permission to run one turn. Must be released exactly once. */
export interface Slot {
  release(): void;
}

/** A limit of running turns, such as those of one agent. */
export interface SlotLimit {
  /** Turns with the same name share the limit. */
  name: string;
  max: number;
}

export function createSlots(): Slots {
  const counts = new Map<string, number>();
  const hasRoom = (limits: readonly SlotLimit[]): boolean => limits.every(({ name, max }) => (counts.get(name) ?? 0) < max);
  return {
    hasRoom,
    take(limits) {
      if (!hasRoom(limits)) return undefined;
      for (const { name } of limits) add(counts, name, 1);
      return {
        release() {
          for (const { name } of limits) add(counts, name, -1);
        },
      };
    },
  };
}

/** Returns a share of slots, rounded down but at least one. */
export function getShare(max: number, share: number): number {
  return Math.max(1, Math.floor(max * share));
}

function add(counts: Map<string, number>, name: string, change: number): void {
  const count = (counts.get(name) ?? 0) + change;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
