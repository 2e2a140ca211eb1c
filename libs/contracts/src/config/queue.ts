import { z } from 'zod';
import { count, flag, positive, share, text } from './kinds.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const QueueMode = z
  .enum(['followup', 'collect', 'steer', 'steer+followup'])
  .describe(
    'messages merged into a turn: none, those waiting at its start, those waiting before each step, or only those that arrived while it ran',
  );

const overflow = z
  .strictObject({
    maxDepth: positive(20).describe('waiting turns of one session'),
    policy: z
      .enum(['drop-old', 'drop-new', 'summarize'])
      .default('drop-new')
      .describe('a turn above the limit replaces the oldest, is rejected, or replaces it and gets a summary of the dropped ones'),
  })
  .prefault({});

const debounce = {
  windowMs: count(0).describe(
    'debounce window: a message within this time of another waits and is answered together with those that arrive meanwhile; 0 disables it',
  ),
  maxBufferedMessages: positive(10).describe('messages answered together at most; the turn starts early when the limit is reached'),
  firstMessageImmediate: flag(true).describe('the first message is not delayed'),
};

const PriorityLane = z.strictObject({
  name: z.string().min(1).max(MAX.name),
  concurrency: positive(3).describe('concurrent turns of one replica'),
  priority: count(0).describe('higher values first'),
  agingPromotionMs: count(30_000).describe('waiting time after which a turn counts as a new member of the next higher lane; 0 disables it'),
});

/** How messages wait for their turn. */
export const queue = z
  .strictObject({
    enabled: flag(true),
    maxConcurrentSessions: positive(10).describe('concurrent turns of one replica'),
    tenantShare: share(0.8).describe(
      'share of the concurrent turns of a replica that one tenant may use once another tenant has agents, so that its long turns never keep others out; rounded down, at least one turn',
    ),
    clientShare: share(1).describe(
      "share of its tenant's concurrent turns on a replica that one client may use; rounded down, at least one turn",
    ),
    maxWaiting: positive(10_000).describe('waiting turns of one tenant'),
    waitTimeoutMs: positive(600_000).describe('maximum waiting time of a turn for its agent'),
    cleanupIdleMs: positive(600_000),
    defaultMode: QueueMode.default('steer+followup'),
    defaultDebounceMs: count(0).describe('default if neither debounce nor the channel sets one'),
    defaultOverflow: overflow,
    perChannel: z
      .record(
        boundedString(MAX.name),
        z.strictObject({ mode: QueueMode.default('steer+followup'), debounceMs: count(0), overflow }).prefault({}),
      )
      .check(maxKeys(MAX.many))
      .default({}),
    debounce: z.strictObject(debounce).prefault({}),
    perChannelDebounce: z.record(boundedString(MAX.name), z.strictObject(debounce).prefault({})).check(maxKeys(MAX.many)).default({}),
    followup: z.strictObject({ maxFollowupRuns: count(3), followupOnCompaction: flag(true) }).prefault({}),
    priorityEnabled: flag(false).describe('enables priority lanes'),
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
        defaultLane: text('normal').describe('lane of webhooks, other agents and unknown lanes'),
        dmLane: text('high').describe('lane of direct messages'),
        mentionLane: text('normal').describe('lane of groups'),
        followupLane: text('normal'),
        scheduledLane: text('low'),
      })
      .prefault({}),
  })
  .prefault({})
  .describe('queueing of turns');
