import { z } from 'zod';
import { AgentId, Count, JsonObject, ResolvedSession, SessionKey, Timestamp } from '../values/common.ts';
import { defineEvents } from '../definition/define.ts';
import { ApprovalRequest, ApprovalResolution, approvalExample } from './admin-approval.ts';
import { sessionLifeEvents } from './session-events.ts';
import { contextEvents } from './context-status.ts';
import { usageEvents } from './usage-event.ts';
import { turnEndedEvents } from './turn-ended-event.ts';
import { TurnId } from './turns.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** A message as it comes in, whichever platform it came from. */
export const InboundMessage = z.object({
  id: boundedString(MAX.name),
  channelId: boundedString(MAX.name),
  channelType: boundedString(MAX.name),
  senderId: boundedString(MAX.name),
  text: boundedString(MAX.text).describe('truncated with … if long'),
  timestamp: Timestamp,
  attachments: z.array(JsonObject).max(MAX.many),
  replyTo: boundedString(MAX.name).optional(),
  chatType: z.enum(['dm', 'group', 'thread', 'channel', 'forum']).optional(),
  metadata: JsonObject,
});

const messageEvents = defineEvents({
  'message:received': {
    summary: 'A message for an agent was received.',
    payload: z.object({ message: InboundMessage, sessionKey: ResolvedSession }),
    example: {
      message: {
        id: 'msg_4fT0mUq2Zs8KxY1bNcVdGh',
        channelId: 'gateway',
        channelType: 'gateway',
        senderId: 'alice',
        text: 'hello',
        timestamp: 1763719200000,
        attachments: [],
        metadata: { traceId: '4bf92f3577b34da6a3ce929d0e0e4736' },
      },
      sessionKey: { tenantId: 'default', userId: 'alice', channelId: 'gateway' },
    },
  },
  'message:sent': {
    summary: 'An agent’s answer was sent.',
    payload: z.object({
      channelId: boundedString(MAX.name),
      messageId: boundedString(MAX.name),
      content: boundedString(MAX.text).describe('truncated with … if long'),
    }),
    example: { channelId: 'gateway', messageId: 'turn_4fT0mUq2Zs8KxY1bNcVdGh', content: 'Hello, Alice.' },
  },
  'message:streaming': {
    summary: 'A chunk of a streaming answer.',
    progress: true,
    payload: z.object({
      channelId: boundedString(MAX.name),
      messageId: boundedString(MAX.name),
      delta: boundedString(MAX.payload),
      accumulated: boundedString(MAX.payload),
    }),
    example: { channelId: 'gateway', messageId: 'turn_4fT0mUq2Zs8KxY1bNcVdGh', delta: ', Alice', accumulated: 'Hello, Alice' },
  },
});

const patterns = z.array(boundedString(MAX.line)).max(MAX.many);

const securityEvents = defineEvents({
  'security:injection_detected': {
    summary: 'A message contained a suspected prompt injection.',
    payload: z.object({
      timestamp: Timestamp,
      source: z.enum(['user_input', 'tool_output', 'external_content', 'memory_write', 'workspace_file']),
      patterns,
      riskLevel: z.enum(['low', 'medium', 'high']),
      agentId: AgentId.optional(),
      sessionKey: SessionKey.optional(),
      traceId: boundedString(MAX.id).optional(),
    }),
    example: {
      timestamp: 1763719200000,
      source: 'external_content',
      patterns: ['ignore_instructions'],
      riskLevel: 'medium',
      agentId: 'default',
    },
  },
  'security:injection_rate_exceeded': {
    summary: 'A session exceeded the rate of suspicious messages.',
    payload: z.object({
      timestamp: Timestamp,
      sessionKey: SessionKey,
      count: Count,
      threshold: Count,
      action: z.enum(['warn', 'reinforce', 'terminate']),
    }),
    example: { timestamp: 1763719200000, sessionKey: 'default:alice:gateway', count: 3, threshold: 3, action: 'warn' },
  },
  'security:memory_tainted': {
    summary: 'A memory was stored with less trust than requested.',
    payload: z.object({
      timestamp: Timestamp,
      agentId: AgentId,
      originalTrustLevel: boundedString(MAX.name),
      adjustedTrustLevel: boundedString(MAX.name),
      patterns,
      blocked: z.boolean(),
    }),
    example: {
      timestamp: 1763719200000,
      agentId: 'default',
      originalTrustLevel: 'learned',
      adjustedTrustLevel: 'external',
      patterns: ['new_instructions'],
      blocked: false,
    },
  },
  'security:warn': {
    summary: 'A setting or action is insecure.',
    payload: z.object({
      category: boundedString(MAX.name),
      agentId: AgentId.optional(),
      message: boundedString(MAX.line),
      timestamp: Timestamp,
    }),
    example: {
      category: 'secret_access',
      agentId: 'default',
      message: 'secrets.allow is empty: every secret may be read',
      timestamp: 1763719200000,
    },
  },
});

/** Reasons that abort a turn before its end. */
export const AbortReason = z.enum([
  'user_stop',
  'budget_exceeded',
  'circuit_breaker',
  'max_steps',
  'context_exhausted',
  'context_loop',
  'output_starved',
  'pipeline_timeout',
]);
export type AbortReason = z.infer<typeof AbortReason>;

const executionEvents = defineEvents({
  'execution:aborted': {
    summary: 'A turn was ended by a limit or cancelled by its client.',
    payload: z.object({
      turnId: TurnId,
      sessionKey: SessionKey,
      agentId: AgentId,
      reason: AbortReason,
      timestamp: Timestamp,
    }),
    beyond: true,
    example: {
      turnId: 'turn_5Qm8Zr1nY0cVh3Kd7LsXwB',
      sessionKey: 'default:alice:gateway',
      agentId: 'default',
      reason: 'max_steps',
      timestamp: 1763719200000,
    },
  },
});

/** Kinds of answers that are not delivered. */
export const FilteredReason = z.enum(['no_reply', 'silent', 'heartbeat_ok', 'empty']);
export type FilteredReason = z.infer<typeof FilteredReason>;

const filteredEvents = defineEvents({
  'response:filtered': {
    summary: 'An empty answer was not delivered. A waiting caller receives it unchanged.',
    payload: z.object({
      turnId: TurnId,
      sessionKey: SessionKey,
      agentId: AgentId,
      channelId: boundedString(MAX.name),
      reason: FilteredReason,
      timestamp: Timestamp,
    }),
    beyond: true,
    example: {
      turnId: 'turn_5Qm8Zr1nY0cVh3Kd7LsXwB',
      sessionKey: 'default:alice:gateway',
      agentId: 'default',
      channelId: 'gateway',
      reason: 'no_reply',
      timestamp: 1763719200000,
    },
  },
});

const approvalEvents = defineEvents({
  'approval:requested': {
    summary: 'A tool call requires approval.',
    payload: ApprovalRequest,
    example: approvalExample,
  },
  'approval:resolved': {
    summary: 'A waiting tool call was approved or denied.',
    payload: ApprovalResolution,
    example: { requestId: approvalExample.requestId, approved: true, approvedBy: 'operator', resolvedAt: 1763719260000 },
  },
});

/** Events of conversations for other services. */
export const sessionsEvents = defineEvents({
  ...messageEvents,
  ...sessionLifeEvents,
  ...turnEndedEvents,
  ...usageEvents,
  ...contextEvents,
  ...executionEvents,
  ...filteredEvents,
  ...securityEvents,
  ...approvalEvents,
});
