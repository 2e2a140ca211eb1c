import { z } from 'zod';
import { count, flag, positive, text } from './kinds.ts';
import { mostKeys } from '../most-keys.ts';
import { MAX, upTo } from '../sizes.ts';

const QueueMode = z
  .enum(['followup', 'collect', 'steer', 'steer+followup'])
  .describe(
    'what a turn hears besides its own message: nothing, what waits when it begins, what waits before each step, of that only what came while it ran',
  );

const overflow = z
  .strictObject({
    maxDepth: positive(20).describe('waiting turns of one session'),
    policy: z
      .enum(['drop-old', 'drop-new', 'summarize'])
      .default('drop-new')
      .describe('of one more: it takes the place of the oldest, it is refused, it takes the place and is told how the oldest began'),
  })
  .prefault({});

const debounce = {
  windowMs: count(0).describe('who comes so soon after somebody else waits as long, and is answered with all who came meanwhile; 0 never'),
  maxBufferedMessages: positive(10).describe('answered together at most; as many wait no longer'),
  firstMessageImmediate: flag(true).describe('who comes after nobody waits for nobody'),
};

const PriorityLane = z.strictObject({
  name: z.string().min(1).max(MAX.name),
  concurrency: positive(3).describe('turns at once of one replica'),
  priority: count(0).describe('higher ones first'),
  agingPromotionMs: count(30_000).describe('who has waited so long counts as one who has just come to the lane above; 0 never'),
});

/** How messages wait for their turn. */
export const queue = z
  .strictObject({
    enabled: flag(true),
    maxConcurrentSessions: positive(10).describe('of one replica'),
    maxWaiting: positive(10_000).describe('waiting turns of one tenant'),
    waitTimeoutMs: positive(600_000).describe('how long a turn may wait for its agent'),
    cleanupIdleMs: positive(600_000),
    defaultMode: QueueMode.default('steer+followup'),
    defaultDebounceMs: count(0).describe('where neither debounce nor a channel says more'),
    defaultOverflow: overflow,
    perChannel: z
      .record(upTo(MAX.name), z.strictObject({ mode: QueueMode.default('steer+followup'), debounceMs: count(0), overflow }).prefault({}))
      .check(mostKeys(MAX.many))
      .default({}),
    debounce: z.strictObject(debounce).prefault({}),
    perChannelDebounce: z.record(upTo(MAX.name), z.strictObject(debounce).prefault({})).check(mostKeys(MAX.many)).default({}),
    followup: z.strictObject({ maxFollowupRuns: count(3), followupOnCompaction: flag(true) }).prefault({}),
    priorityEnabled: flag(false).describe('turns that wait for an agent wait in lanes'),
    priorityLanes: z
      .array(PriorityLane)
      .max(MAX.few)
      .default([
        { name: 'high', concurrency: 3, priority: 2, agingPromotionMs: 30_000 },
        { name: 'normal', concurrency: 5, priority: 1, agingPromotionMs: 60_000 },
        { name: 'low', concurrency: 2, priority: 0, agingPromotionMs: 0 },
      ]),
    laneAssignment: z
      .strictObject({
        defaultLane: text('normal').describe('of webhooks, of other agents, and of what names a lane that is not there'),
        dmLane: text('high').describe('of who speaks with the agent alone'),
        mentionLane: text('normal').describe('of groups'),
        followupLane: text('normal'),
        scheduledLane: text('low'),
      })
      .prefault({}),
  })
  .prefault({})
  .describe('how messages wait for their turn');
