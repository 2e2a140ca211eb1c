import { z } from 'zod';
import { AgentId, Count, DurationMs, Timestamp } from '../values/common.ts';
import { defineEvents } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** Changes of skills. */
export const toolsEvents = defineEvents({
  'skill:loaded': {
    summary: 'A skill was loaded and is available to agents.',
    payload: z.object({ skillName: boundedString(MAX.name), source: boundedString(MAX.name), timestamp: Timestamp }),
    example: { skillName: 'release-notes', source: 'workspace', timestamp: 1763719200000 },
  },
  'skill:executed': {
    summary: 'An agent used a skill.',
    payload: z.object({ skillName: boundedString(MAX.name), durationMs: DurationMs, success: z.boolean(), timestamp: Timestamp }),
    example: { skillName: 'release-notes', durationMs: 412, success: true, timestamp: 1763719200000 },
  },
  'skill:rejected': {
    summary: 'The content scan rejected a skill.',
    payload: z.object({
      skillName: boundedString(MAX.name),
      reason: boundedString(MAX.line),
      violations: z.array(boundedString(MAX.line)).max(MAX.many),
      timestamp: Timestamp,
    }),
    example: { skillName: 'cleaner', reason: 'content_scan', violations: ['exec_injection'], timestamp: 1763719200000 },
  },
  'skill:registry_reset': {
    summary: 'The skill cache was cleared; skills are loaded again.',
    payload: z.object({
      clearedMetadata: Count,
      clearedPromptCache: Count,
      agentId: AgentId.optional().describe('the agent whose skills changed; default: all agents'),
      timestamp: Timestamp,
    }),
    example: { clearedMetadata: 12, clearedPromptCache: 4, timestamp: 1763719200000 },
  },
});
