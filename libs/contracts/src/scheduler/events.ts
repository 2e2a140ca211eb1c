import { z } from 'zod';
import { AgentId, Count, DurationMs, Timestamp } from '../values/common.ts';
import { defineEvents } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { ExtractedTask } from './tasks.ts';

const job = { jobId: boundedString(MAX.id), jobName: boundedString(MAX.name), agentId: AgentId };
const jobExample = { jobId: 'job_4fT0mUq2Zs8KxY1bNcVdGh', jobName: 'nightly-report', agentId: 'default' };

/** Jobs that fire and hearts that beat. */
export const schedulerEvents = defineEvents({
  'scheduler:job_started': {
    summary: 'A run of a job started.',
    payload: z.object({ ...job, timestamp: Timestamp }),
    example: { ...jobExample, timestamp: 1763719200000 },
  },
  'scheduler:job_completed': {
    summary: 'A run of a job ended.',
    payload: z.object({
      ...job,
      durationMs: DurationMs,
      success: z.boolean(),
      error: boundedString(MAX.line).optional(),
      timestamp: Timestamp,
    }),
    example: { ...jobExample, durationMs: 5200, success: true, timestamp: 1763719205200 },
  },
  'scheduler:job_suspended': {
    summary: 'A job was suspended after errors, or because the rights of its maker changed.',
    beyond: true,
    payload: z.object({ ...job, reason: boundedString(MAX.line), timestamp: Timestamp }),
    example: { ...jobExample, reason: '5 errors in a row; the last: the model did not answer in time', timestamp: 1763719205200 },
  },
  'scheduler:task_extracted': {
    summary: 'A follow-up task was found in a conversation.',
    beyond: true,
    payload: z.object({ agentId: AgentId, task: ExtractedTask, timestamp: Timestamp }),
    example: {
      agentId: 'default',
      task: {
        id: 'task_4f0a1c2d3e4b5a69788796',
        title: 'Send the offer to the customer',
        description: 'The customer expects the offer by Friday.',
        dueDate: '2025-11-28',
        priority: 'high',
        confidence: 0.92,
        status: 'pending',
        source: { sessionKey: 'default:alice:gateway', messageIndex: 1, extractedAt: 1763719200000 },
        createdAt: 1763719200000,
      },
      timestamp: 1763719200000,
    },
  },
  'scheduler:heartbeat_check': {
    summary: 'The system checks of a heartbeat ran.',
    payload: z.object({ checksRun: Count, alertsRaised: Count, timestamp: Timestamp }),
    example: { checksRun: 6, alertsRaised: 1, timestamp: 1763719200000 },
  },
  'scheduler:heartbeat_delivered': {
    summary: 'An agent’s heartbeat reply was delivered or suppressed.',
    payload: z.object({
      agentId: AgentId,
      channelType: boundedString(MAX.name),
      channelId: boundedString(MAX.name),
      chatId: boundedString(MAX.name),
      level: z.enum(['ok', 'alert', 'critical']),
      outcome: z.enum(['delivered', 'skipped', 'failed']),
      reason: boundedString(MAX.line).optional(),
      durationMs: DurationMs,
      timestamp: Timestamp,
    }),
    example: {
      agentId: 'default',
      channelType: 'telegram',
      channelId: 'telegram',
      chatId: '678',
      level: 'alert',
      outcome: 'delivered',
      durationMs: 310,
      timestamp: 1763719200000,
    },
  },
  'scheduler:heartbeat_alert': {
    summary: 'An agent’s heartbeat failed repeatedly.',
    payload: z.object({
      agentId: AgentId,
      consecutiveErrors: Count,
      classification: z.enum(['transient', 'permanent']),
      reason: boundedString(MAX.line),
      backoffMs: DurationMs,
      timestamp: Timestamp,
    }),
    example: {
      agentId: 'default',
      consecutiveErrors: 2,
      classification: 'transient',
      reason: 'provider timed out',
      backoffMs: 60000,
      timestamp: 1763719200000,
    },
  },
});
