import { formatWaitsFor, parseWaitsFor } from '../model/queue-entry.ts';
import type { Lane, Lanes } from './lanes.ts';

/** One in this many turns of a client with an agent goes to the longest-waiting turn of any lane. */
export const OLDEST_FIRST_INTERVAL = 8;

/**
 * Orders the lanes of a client's turns with an agent. A turn that has waited for the promotion time of its lane ranks like a new turn of the lane above, so it
 * precedes higher-lane turns that arrive later. Every eighth turn goes to the longest-waiting turn, so that lanes without promotion are
 * not starved.
 *
 * A replica's view of the first turn of a lane is never later than the truth, because a claim returns the first turn and later turns only
 * arrive later. A lane is therefore served at most once too early.
 */
export interface LaneScheduler {
  /** Records a turn that may start at `from`; earlier turns may exist. */
  added(waitsFor: string, from: number): void;
  /** Sets the start time of the first turn of the lane. */
  setFirst(waitsFor: string, from: number): void;
  /** The first turn of the lane was served. */
  served(waitsFor: string, from: number): void;
  /** The lane is empty. */
  remove(waitsFor: string): void;
  /** Returns whether the first lane precedes the second. Both belong to the same agent and client. */
  isAhead(one: string, other: string): boolean;
}

interface AgentLanes {
  turns: number;
  /** Earliest start of the first turn, by lane. */
  firsts: Map<string, number>;
}

export function createLaneScheduler(lanes: () => Lanes | undefined): LaneScheduler {
  const agents = new Map<string, AgentLanes>();

  function recordFirst(waitsFor: string, from: number): void {
    // Without lanes there is nothing to order.
    if (parseWaitsFor(waitsFor).lane === undefined) return;
    const agent = getLaneGroup(waitsFor);
    const known = agents.get(agent);
    if (known) known.firsts.set(waitsFor, from);
    else agents.set(agent, { turns: 0, firsts: new Map([[waitsFor, from]]) });
  }

  // A turn without a lane was queued before lanes were configured.
  const getFirstStart = (waitsFor: string): number => agents.get(getLaneGroup(waitsFor))?.firsts.get(waitsFor) ?? 0;

  return {
    added(waitsFor, from) {
      const existing = agents.get(getLaneGroup(waitsFor))?.firsts.get(waitsFor);
      if (existing === undefined || from < existing) recordFirst(waitsFor, from);
    },
    setFirst: recordFirst,
    served(waitsFor, from) {
      recordFirst(waitsFor, from);
      const known = agents.get(getLaneGroup(waitsFor));
      if (known) known.turns += 1;
    },
    remove(waitsFor) {
      const agent = getLaneGroup(waitsFor);
      const known = agents.get(agent);
      if (known?.firsts.delete(waitsFor) && known.firsts.size === 0) agents.delete(agent);
    },
    isAhead(one, other) {
      const [mine, theirs] = [getFirstStart(one), getFirstStart(other)];
      const now = lanes();
      const turns = agents.get(getLaneGroup(one))?.turns ?? 0;
      if (!now || turns % OLDEST_FIRST_INTERVAL === OLDEST_FIRST_INTERVAL - 1) return mine < theirs;
      const [here, there] = [getRank(now, one), getRank(now, other)];
      return here.barriers === there.barriers ? mine + here.promotionMs < theirs + there.promotionMs : here.barriers < there.barriers;
    },
  };
}

function getRank(lanes: Lanes, waitsFor: string): Pick<Lane, 'barriers' | 'promotionMs'> {
  const { lane } = parseWaitsFor(waitsFor);
  return lane === undefined ? { barriers: 0, promotionMs: 0 } : lanes.get(lane);
}

/** Returns the key of the agent and the client, without the lane. */
function getLaneGroup(waitsFor: string): string {
  const { tenant, agentId, client } = parseWaitsFor(waitsFor);
  return formatWaitsFor(tenant, { agentId, client });
}
