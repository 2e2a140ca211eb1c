import { z } from 'zod';
import { AgentId, Count, DurationMs, JsonObject, NoParams, Timestamp } from '../values/common.ts';
import { heartbeatSettings, heartbeatTarget } from '../config/agent-session.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** State of an agent's heartbeat. Times of events that have not happened are null. */
export const HeartbeatState = z.object({
  agentId: AgentId,
  enabled: z.boolean(),
  intervalMs: DurationMs.describe('0 if it beats only when triggered'),
  lastRunMs: Timestamp.nullable(),
  nextDueMs: Timestamp.nullable(),
  consecutiveErrors: Count,
  backoffUntilMs: Timestamp.nullable(),
  lastErrorKind: z.enum(['transient', 'permanent']).nullable(),
  tickStartedAtMs: Timestamp.nullable().optional().describe('set during a heartbeat'),
  lastAlertMs: Timestamp.nullable().optional(),
  lastOutcome: z.enum(['ok', 'alert', 'critical', 'skipped', 'error']).optional().describe('of the last heartbeat'),
  lastReason: boundedString(MAX.line).optional().describe('why it was skipped, failed or not delivered'),
});
export type HeartbeatState = z.infer<typeof HeartbeatState>;

export const HeartbeatStates = z.object({ agents: z.array(HeartbeatState).max(MAX.all) });

/** Settings of this agent, and the effective settings with defaults. */
export const HeartbeatConfig = z.object({ agentId: AgentId, perAgent: JsonObject, effective: JsonObject });

export const HeartbeatUpdated = z.object({ agentId: AgentId, config: JsonObject, updated: z.literal(true) });
export const HeartbeatTriggered = z.object({ agentId: AgentId, triggered: z.literal(true) });

const OneAgent = z.strictObject({ agentId: AgentId });

const effective = { enabled: true, intervalMs: 600_000, showOk: false, showAlerts: true, alertThreshold: 2, alertCooldownMs: 300_000 };

export const heartbeatMethods = defineMethods({
  'heartbeat.states': {
    summary: 'Returns the last and next heartbeat of every agent.',
    scope: 'admin',
    params: NoParams,
    result: HeartbeatStates,
    blobs: ['agents'],
    idempotent: true,
    examples: [
      {
        params: {},
        result: {
          agents: [
            {
              agentId: 'default',
              enabled: true,
              intervalMs: 300_000,
              lastRunMs: 1763719200000,
              nextDueMs: 1763719500000,
              consecutiveErrors: 0,
              backoffUntilMs: null,
              lastErrorKind: null,
            },
          ],
        },
      },
    ],
  },
  'heartbeat.get': {
    summary: 'Returns an agent’s heartbeat settings: its own and the effective ones.',
    scope: 'admin',
    params: OneAgent,
    result: HeartbeatConfig,
    blobs: ['perAgent', 'effective'],
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [{ params: { agentId: 'default' }, result: { agentId: 'default', perAgent: { intervalMs: 600_000 }, effective } }],
  },
  'heartbeat.update': {
    summary: 'Updates an agent’s heartbeat settings; omitted fields keep their values.',
    description: 'Takes effect immediately and is stored. With an interval of 0 it beats only when triggered.',
    scope: 'admin',
    audited: 'mutate',
    params: z.strictObject({
      agentId: AgentId,
      ...heartbeatSettings,
      targetChannelType: heartbeatTarget.shape.channelType.optional(),
      targetChannelId: heartbeatTarget.shape.channelId.optional(),
      targetChatId: heartbeatTarget.shape.chatId.optional(),
      targetIsDm: heartbeatTarget.shape.isDm,
    }),
    result: HeartbeatUpdated,
    blobs: ['toolPolicy', 'prompt', 'config'],
    idempotent: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    emits: ['config:patched'],
    examples: [
      {
        params: { agentId: 'default', intervalMs: 600_000, showOk: false },
        result: { agentId: 'default', config: effective, updated: true },
      },
    ],
  },
  'heartbeat.trigger': {
    summary: 'Triggers an agent’s heartbeat without waiting for its result.',
    scope: 'admin',
    params: OneAgent,
    result: HeartbeatTriggered,
    errors: ['NOT_FOUND'],
    emits: ['scheduler:heartbeat_check', 'scheduler:heartbeat_delivered', 'scheduler:heartbeat_alert'],
    examples: [{ params: { agentId: 'default' }, result: { agentId: 'default', triggered: true } }],
  },
});
