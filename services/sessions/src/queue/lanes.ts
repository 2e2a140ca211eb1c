import { WEBHOOK_CHANNEL, type Principal } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';
import type { SessionIdentity } from '../model/session-key.ts';

type Queue = Settings<'queue'>['current']['queue'];

/** Rank of a lane relative to the other lanes. */
export interface Lane {
  /** Maximum concurrent turns of the lane on a replica. */
  concurrency: number;
  /** Number of lanes above without promotion from below. A lane with fewer barriers always goes first. */
  barriers: number;
  /** Waiting time after which a turn ranks like a new turn of the highest lane that can be reached by promotion. */
  promotionMs: number;
}

/** Lanes of a configuration. Computed once per configuration. */
export interface Lanes {
  /** Returns the lane in which a turn of this session waits. */
  laneFor(identity: SessionIdentity, principal: Pick<Principal, 'agent'>): string;
  /** Returns the default lane for a name that is no longer configured. */
  get(lane: string): Lane;
  names: readonly string[];
  /** Lane of auto-continued turns. */
  autoContinue: string;
  /** Lane of turns that jobs and heartbeats order. */
  scheduled: string;
}

const cache = new WeakMap<Queue, Lanes>();

/** Undefined when lanes are not configured. */
export function getLanes(queue: Queue): Lanes | undefined {
  if (!queue.priorityEnabled || queue.priorityLanes.length === 0) return undefined;
  let lanes = cache.get(queue);
  if (!lanes) cache.set(queue, (lanes = buildLanes(queue)));
  return lanes;
}

function buildLanes({ priorityLanes, laneAssignment }: Queue): Lanes {
  const lanes = new Map<string, Lane>();
  let above: Lane | undefined;
  let level: { priority: number; lanes: Lane[] } | undefined;
  const ordered = priorityLanes.toSorted((one, other) => other.priority - one.priority);
  for (const { name, concurrency, priority, agingPromotionMs } of ordered) {
    if (level && level.priority !== priority) above = level.lanes.reduce((best, lane) => (isAhead(lane, best) ? lane : best));
    if (level?.priority !== priority) level = { priority, lanes: [] };
    const lane = { concurrency, ...rankBelow(above, agingPromotionMs) };
    level.lanes.push(lane);
    if (!lanes.has(name)) lanes.set(name, lane);
  }
  const { defaultLane, dmLane, mentionLane, followupLane, scheduledLane } = laneAssignment;
  const standard = lanes.has(defaultLane) ? defaultLane : (ordered.at(-1)?.name ?? '');
  const named = (name: string): string => (lanes.has(name) ? name : standard);
  const [direct, among] = [named(dmLane), named(mentionLane)];
  const fallback = lanes.get(standard) ?? { concurrency: Infinity, barriers: 0, promotionMs: 0 };
  return {
    laneFor(identity, { agent }) {
      // Turns for another agent or a webhook do not delay people.
      if (agent !== undefined || identity.channelId === WEBHOOK_CHANNEL) return standard;
      return identity.guildId === undefined ? direct : among;
    },
    get: (name) => lanes.get(name) ?? fallback,
    names: [...lanes.keys()],
    autoContinue: named(followupLane),
    scheduled: named(scheduledLane),
  };
}

/** 0 disables promotion. */
function rankBelow(above: Lane | undefined, agingPromotionMs: number): Pick<Lane, 'barriers' | 'promotionMs'> {
  if (!above) return { barriers: 0, promotionMs: 0 };
  return agingPromotionMs === 0
    ? { barriers: above.barriers + 1, promotionMs: 0 }
    : { barriers: above.barriers, promotionMs: above.promotionMs + agingPromotionMs };
}

function isAhead(one: Lane, other: Lane): boolean {
  return one.barriers === other.barriers ? one.promotionMs < other.promotionMs : one.barriers < other.barriers;
}
