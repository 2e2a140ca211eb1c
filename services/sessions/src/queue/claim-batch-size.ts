/**
 * Limits concurrent claims per agent. Starts at one, doubles after each claim that found a turn, and returns to one after an empty claim.
 * Slots that become free together are filled together, and an idle agent costs one claim.
 */
export interface Claims {
  may(agent: string): boolean;
  begin(agent: string): void;
  end(agent: string, found: boolean): void;
}

export function createClaims(most: number): Claims {
  const agents = new Map<string, { underWay: number; allowed: number }>();
  return {
    may(agent) {
      const { underWay, allowed } = agents.get(agent) ?? { underWay: 0, allowed: 1 };
      return underWay < allowed;
    },
    begin(agent) {
      const { underWay, allowed } = agents.get(agent) ?? { underWay: 0, allowed: 1 };
      agents.set(agent, { underWay: underWay + 1, allowed });
    },
    end(agent, found) {
      const { underWay, allowed } = agents.get(agent) ?? { underWay: 1, allowed: 1 };
      if (!found && underWay <= 1) agents.delete(agent);
      else agents.set(agent, { underWay: underWay - 1, allowed: found ? Math.min(allowed * 2, most) : 1 });
    },
  };
}
