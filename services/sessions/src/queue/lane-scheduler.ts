import { agentKeyOf, laneOfWaiting } from '../model/queue-entry.ts';
import type { Lanes } from './lanes.ts';

/** One turn in so many of an agent goes to whoever has waited longest, in whichever lane. */
export const WHOEVER_WAITED_LONGEST = 8;

/**
 * Which lane of an agent is next. Who has waited for as long as its lane says counts as one who has just come to the lane above: so a
 * turn comes before those of higher lanes that come later than that. Of each eight turns one goes to who has waited longest, so that
 * those get their turn too who never climb.
 *
 * What a replica knows of the first in each lane is no later than it is: a claim gives the first there is, and what comes then came
 * later. So a lane is taken at most once for further ahead than it is.
 */
export interface LaneOrder {
  /** Somebody waits there who may begin then; others may have come before. */
  came(waitsFor: string, from: number): void;
  /** Whoever is first there may begin then. */
  first(waitsFor: string, from: number): void;
  /** The first of it was given a turn. */
  given(waitsFor: string, from: number): void;
  /** Nobody waits there any more. */
  forget(waitsFor: string): void;
  /** Whether the one comes before the other, of the same agent. */
  ahead(one: string, other: string): boolean;
}

interface OfAgent {
  turns: number;
  /** From when on the first of each lane may begin, at the earliest. */
  firsts: Map<string, number>;
}

export function createLaneOrder(lanes: () => Lanes | undefined): LaneOrder {
  const agents = new Map<string, OfAgent>();

  function note(waitsFor: string, from: number): void {
    const agent = agentKeyOf(waitsFor);
    // Without lanes nobody of an agent comes before others of it.
    if (agent === waitsFor) return;
    const known = agents.get(agent);
    if (known) known.firsts.set(waitsFor, from);
    else agents.set(agent, { turns: 0, firsts: new Map([[waitsFor, from]]) });
  }

  // Who waits without a lane did so before there were any.
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
