import { z } from 'zod';
import { AgentId, Timestamp } from '../values/common.ts';
import { defineEvents } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** Names of secrets, never values. */
export const secretsEvents = defineEvents({
  'secret:accessed': {
    summary: 'A secret was read, or a read failed.',
    payload: z.object({
      secretName: boundedString(MAX.name),
      agentId: AgentId.optional().describe('agent of the call'),
      outcome: z.enum(['success', 'denied', 'not_found']),
      timestamp: Timestamp,
    }),
    example: { secretName: 'OPENAI_API_KEY', agentId: 'default', outcome: 'success', timestamp: 1763719200000 },
  },
  'secret:modified': {
    summary: 'A secret was written or deleted.',
    payload: z.object({
      secretName: boundedString(MAX.name),
      action: z.enum(['created', 'updated', 'deleted', 'imported']),
      timestamp: Timestamp,
    }),
    example: { secretName: 'OPENAI_API_KEY', action: 'created', timestamp: 1763719200000 },
  },
});
