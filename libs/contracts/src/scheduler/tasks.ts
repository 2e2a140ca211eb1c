import { z } from 'zod';
import { Count, SessionKey, Timestamp } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const MAX_TITLE_CHARS = 500;

/** A task as a model extracts it from a conversation. */
export const TaskFacts = z.object({
  title: z.string().min(1).max(MAX_TITLE_CHARS),
  description: boundedString(MAX.line),
  dueDate: boundedString(MAX.id).optional().describe('ISO 8601'),
  priority: z.enum(['low', 'medium', 'high', 'critical']),
  confidence: z.number().min(0).max(1),
});
export type TaskFacts = z.infer<typeof TaskFacts>;

/** A follow-up task that was found in a conversation. */
export const ExtractedTask = TaskFacts.extend({
  id: boundedString(MAX.name),
  status: z.enum(['pending', 'scheduled', 'completed', 'cancelled']),
  source: z.object({
    sessionKey: SessionKey,
    messageIndex: Count.describe('last message of the part of the conversation that was read'),
    extractedAt: Timestamp,
  }),
  createdAt: Timestamp,
});
export type ExtractedTask = z.infer<typeof ExtractedTask>;
