import { z } from 'zod';
import { AgentId, Count, DurationMs, JsonObject, SessionKey, Timestamp, Usd } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** How busy one channel is. */
export const ChannelActivity = z.object({
  channelId: boundedString(MAX.name),
  channelType: boundedString(MAX.name),
  lastActiveAt: Timestamp,
  messagesSent: Count,
  messagesReceived: Count,
});

/** Something worth knowing that happened to a message, a session, a webhook or a budget. */
export const DiagnosticEvent = z.object({
  id: boundedString(MAX.id),
  category: boundedString(MAX.name).describe('usage, webhook, message, session, …'),
  eventType: boundedString(MAX.name),
  timestamp: Timestamp,
  agentId: AgentId.optional(),
  channelId: boundedString(MAX.name).optional(),
  sessionKey: SessionKey.optional(),
  data: JsonObject,
});

const DeliveryStep = z.object({
  name: z.enum(['receive', 'execute', 'deliver']),
  timestamp: Timestamp,
  durationMs: DurationMs,
  status: z.enum(['ok', 'error']),
  error: boundedString(MAX.line).optional(),
});

/** One message from its coming in to its answer's going out. */
export const DeliveryTrace = z.object({
  sourceChannelId: boundedString(MAX.name),
  sourceChannelType: boundedString(MAX.name),
  targetChannelId: boundedString(MAX.name),
  targetChannelType: boundedString(MAX.name),
  deliveredAt: Timestamp,
  latencyMs: DurationMs,
  success: z.boolean(),
  error: boundedString(MAX.line).optional(),
  agentId: AgentId.optional(),
  sessionKey: SessionKey.optional(),
  steps: z.array(DeliveryStep).max(MAX.many).optional(),
  metadata: JsonObject.optional(),
  status: z.enum(['success', 'error', 'timeout', 'filtered', 'aborted']).optional(),
  traceId: boundedString(MAX.id).optional(),
  toolCalls: Count.optional(),
  llmCalls: Count.optional(),
  tokensTotal: Count.optional(),
  costTotal: Usd.optional(),
  failureStage: boundedString(MAX.name).optional(),
  errorKind: boundedString(MAX.name).optional(),
});

/** How many rows each table of observations lost. */
export const RowsDeleted = z.object({ tokenUsage: Count, delivery: Count, diagnostics: Count, channels: Count });

export const OBSERVATION_TABLES = ['token_usage', 'delivery', 'diagnostics', 'channels'] as const;

export const channelActivityExample = {
  channelId: 'telegram-678',
  channelType: 'telegram',
  lastActiveAt: 1763719200000,
  messagesSent: 41,
  messagesReceived: 44,
};

export const SinceMs = z.number().nonnegative().describe('period before now, in milliseconds; 0 is now');
