import { WEBHOOK_CHANNEL, type Principal } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';
import type { SessionIdentity } from '../model/session-key.ts';

type Queue = Settings<'queue'>['current']['queue'];

/** Rank of a lane relative to the other lanes. */
export interface Lane {
  /** Maximum concurrent turns of the lane on a replica. */
  concurrency: number;
  /** Number of lanes above without promotion from below. A lane with fewer barriers always goes first. */
  behind: number;
  /** Waiting time after which a turn ranks like a new turn of the highest lane that can be reached by promotion. */
  climbMs: number;
}

/** Lanes of a configuration. Computed once per configuration. */
export interface Lanes {
  /** Returns the lane in which a turn of this session waits. */
  of(identity: SessionIdentity, principal: Pick<Principal, 'agent'>): string;
  /** Returns the default lane for a name that is no longer configured. */
  get(lane: string): Lane;
  names: readonly string[];
  /** Lane of auto-continued turns. */
  followUp: string;
}

const known = new WeakMap<Queue, Lanes>();

/** Undefined when lanes are not configured. */
export function lanesOf(queue: Queue): Lanes | undefined {
  if (!queue.priorityEnabled || queue.priorityLanes.length === 0) return undefined;
  let lanes = known.get(queue);
  if (!lanes) known.set(queue, (lanes = workOut(queue)));
  return lanes;
}

function workOut({ priorityLanes, laneAssignment }: Queue): Lanes {
  const lanes = new Map<string, Lane>();
  let above: Lane | undefined;
  let level: { priority: number; lanes: Lane[] } | undefined;
  const ordered = priorityLanes.toSorted((one, other) => other.priority - one.priority);
  for (const { name, concurrency, priority, agingPromotionMs } of ordered) {
    if (level && level.priority !== priority) above = level.lanes.reduce((best, lane) => (isAhead(lane, best) ? lane : best));
    if (level?.priority !== priority) level = { priority, lanes: [] };
    const lane = { concurrency, ...climbing(above, agingPromotionMs) };
    level.lanes.push(lane);
    if (!lanes.has(name)) lanes.set(name, lane);
  }
  const { defaultLane, dmLane, mentionLane, followupLane } = laneAssignment;
  const standard = lanes.has(defaultLane) ? defaultLane : (ordered.at(-1)?.name ?? '');
  const named = (name: string): string => (lanes.has(name) ? name : standard);
  const [direct, among] = [named(dmLane), named(mentionLane)];
  const fallback = lanes.get(standard) ?? { concurrency: Infinity, behind: 0, climbMs: 0 };
  return {
    of(identity, { agent }) {
      // Turns for another agent or a webhook do not delay people.
      if (agent !== undefined || identity.channelId === WEBHOOK_CHANNEL) return standard;
      return identity.guildId === undefined ? direct : among;
    },
    get: (name) => lanes.get(name) ?? fallback,
    names: [...lanes.keys()],
    followUp: named(followupLane),
  };
}

/** 0 disables promotion. */
function climbing(above: Lane | undefined, agingPromotionMs: number): Pick<Lane, 'behind' | 'climbMs'> {
  if (!above) return { behind: 0, climbMs: 0 };
  return agingPromotionMs === 0
    ? { behind: above.behind + 1, climbMs: 0 }
    : { behind: above.behind, climbMs: above.climbMs + agingPromotionMs };
}

function isAhead(one: Lane, other: Lane): boolean {
  return one.behind === other.behind ? one.climbMs < other.climbMs : one.behind < other.behind;
}
