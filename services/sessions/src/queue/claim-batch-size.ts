/**
 * Limits concurrent claims per agent. Starts at one, doubles after each claim that found a turn, and returns to one after an empty claim.
 * Slots that become free together are filled together, and an idle agent costs one claim.
 */
export interface ClaimBatchSizes {
  canClaim(agent: string): boolean;
  begin(agent: string): void;
  end(agent: string, isFound: boolean): void;
}

export function createClaimBatchSizes(max: number): ClaimBatchSizes {
  const agents = new Map<string, { inFlight: number; allowed: number }>();
  return {
    canClaim(agent) {
      const { inFlight, allowed } = agents.get(agent) ?? { inFlight: 0, allowed: 1 };
      return inFlight < allowed;
    },
    begin(agent) {
      const { inFlight, allowed } = agents.get(agent) ?? { inFlight: 0, allowed: 1 };
      agents.set(agent, { inFlight: inFlight + 1, allowed });
    },
    end(agent, found) {
      const { inFlight, allowed } = agents.get(agent) ?? { inFlight: 1, allowed: 1 };
      if (!found && inFlight <= 1) agents.delete(agent);
      else agents.set(agent, { inFlight: inFlight - 1, allowed: found ? Math.min(allowed * 2, max) : 1 });
    },
  };
}
