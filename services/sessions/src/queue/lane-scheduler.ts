import { agentKeyOf, laneOfWaiting } from '../model/queue-entry.ts';
import type { Lanes } from './lanes.ts';

/** One in this many turns of an agent goes to the longest-waiting turn of any lane. */
export const WHOEVER_WAITED_LONGEST = 8;

/**
 * Orders the lanes of an agent. A turn that has waited for the promotion time of its lane ranks like a new turn of the lane above, so it
 * precedes higher-lane turns that arrive later. Every eighth turn goes to the longest-waiting turn, so that lanes without promotion are
 * not starved.
 *
 * A replica's view of the first turn of a lane is never later than the truth, because a claim returns the first turn and later turns only
 * arrive later. A lane is therefore served at most once too early.
 */
export interface LaneOrder {
  /** Records a turn that may start at `from`; earlier turns may exist. */
  came(waitsFor: string, from: number): void;
  /** Sets the start time of the first turn of the lane. */
  first(waitsFor: string, from: number): void;
  /** The first turn of the lane was served. */
  given(waitsFor: string, from: number): void;
  /** The lane is empty. */
  forget(waitsFor: string): void;
  /** Returns whether the first lane precedes the second. Both belong to the same agent. */
  ahead(one: string, other: string): boolean;
}

interface OfAgent {
  turns: number;
  /** Earliest start of the first turn, by lane. */
  firsts: Map<string, number>;
}

export function createLaneOrder(lanes: () => Lanes | undefined): LaneOrder {
  const agents = new Map<string, OfAgent>();

  function note(waitsFor: string, from: number): void {
    const agent = agentKeyOf(waitsFor);
    // Without lanes there is nothing to order.
    if (agent === waitsFor) return;
    const known = agents.get(agent);
    if (known) known.firsts.set(waitsFor, from);
    else agents.set(agent, { turns: 0, firsts: new Map([[waitsFor, from]]) });
  }

  // A turn without a lane was queued before lanes were configured.
  const firstOf = (waitsFor: string): number => agents.get(agentKeyOf(waitsFor))?.firsts.get(waitsFor) ?? 0;

  return {
    came(waitsFor, from) {
      const there = agents.get(agentKeyOf(waitsFor))?.firsts.get(waitsFor);
      if (there === undefined || from < there) note(waitsFor, from);
    },
    first: note,
    given(waitsFor, from) {
      note(waitsFor, from);
      const known = agents.get(agentKeyOf(waitsFor));
      if (known) known.turns += 1;
    },
    forget(waitsFor) {
      const agent = agentKeyOf(waitsFor);
      const known = agents.get(agent);
      if (known?.firsts.delete(waitsFor) && known.firsts.size === 0) agents.delete(agent);
    },
    ahead(one, other) {
      const [mine, theirs] = [firstOf(one), firstOf(other)];
      const now = lanes();
      const turns = agents.get(agentKeyOf(one))?.turns ?? 0;
      if (!now || turns % WHOEVER_WAITED_LONGEST === WHOEVER_WAITED_LONGEST - 1) return mine < theirs;
      const [here, there] = [standing(now, one), standing(now, other)];
      return here.behind === there.behind ? mine + here.climbMs < theirs + there.climbMs : here.behind < there.behind;
    },
  };
}

function standing(lanes: Lanes, waitsFor: string): { behind: number; climbMs: number } {
  const lane = laneOfWaiting(waitsFor);
  return lane === undefined ? { behind: 0, climbMs: 0 } : lanes.get(lane);
}
