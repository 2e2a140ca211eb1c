import { z } from 'zod';
import { AgentId, Count, DurationMs, JsonObject, SessionKey, Timestamp, Usd } from '../common.ts';
import { MAX } from '../sizes.ts';

/** How busy one channel is. */
export const ChannelActivity = z.object({
  channelId: z.string().max(MAX.name),
  channelType: z.string().max(MAX.name),
  lastActiveAt: Timestamp,
  messagesSent: Count,
  messagesReceived: Count,
});

/** Something worth knowing that happened to a message, a session, a webhook or a budget. */
export const DiagnosticEvent = z.object({
  id: z.string().max(MAX.id),
  category: z.string().max(MAX.name).describe('usage, webhook, message, session, …'),
  eventType: z.string().max(MAX.name),
  timestamp: Timestamp,
  agentId: AgentId.optional(),
  channelId: z.string().max(MAX.name).optional(),
  sessionKey: SessionKey.optional(),
  data: JsonObject,
});

const DeliveryStep = z.object({
  name: z.enum(['receive', 'execute', 'deliver']),
  timestamp: Timestamp,
  durationMs: DurationMs,
  status: z.enum(['ok', 'error']),
  error: z.string().max(MAX.line).optional(),
});

/** One message from its coming in to its answer's going out. */
export const DeliveryTrace = z.object({
  sourceChannelId: z.string().max(MAX.name),
  sourceChannelType: z.string().max(MAX.name),
  targetChannelId: z.string().max(MAX.name),
  targetChannelType: z.string().max(MAX.name),
  deliveredAt: Timestamp,
  latencyMs: DurationMs,
  success: z.boolean(),
  error: z.string().max(MAX.line).optional(),
  agentId: AgentId.optional(),
  sessionKey: SessionKey.optional(),
  steps: z.array(DeliveryStep).max(MAX.many).optional(),
  metadata: JsonObject.optional(),
  status: z.enum(['success', 'error', 'timeout', 'filtered', 'aborted']).optional(),
  traceId: z.string().max(MAX.id).optional(),
  toolCalls: Count.optional(),
  llmCalls: Count.optional(),
  tokensTotal: Count.optional(),
  costTotal: Usd.optional(),
  failureStage: z.string().max(MAX.name).optional(),
  errorKind: z.string().max(MAX.name).optional(),
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

export const SinceMs = z.number().nonnegative().describe('how far back from now, in milliseconds; 0 is now');
