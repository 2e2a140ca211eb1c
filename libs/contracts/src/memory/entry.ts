import { z } from 'zod';
import { AgentId, JsonObject, Rate, SessionKey, Timestamp } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';

export const MemoryType = z.enum(['working', 'episodic', 'semantic', 'procedural']);
export const TrustLevel = z.enum(['system', 'learned', 'external']);

/** One thing remembered. Its embedding never leaves the service. */
export const MemoryEntry = z.object({
  id: boundedString(MAX.id),
  tenantId: boundedString(MAX.id),
  agentId: AgentId,
  userId: boundedString(MAX.name),
  content: boundedString(MAX.text),
  memoryType: MemoryType,
  trustLevel: TrustLevel,
  source: z.object({ who: boundedString(MAX.line), channel: boundedString(MAX.name).optional(), sessionKey: SessionKey.optional() }),
  sourceType: z.enum(['system', 'conversation', 'tool', 'web', 'api', 'unknown']).optional(),
  taintLevel: z.enum(['clean', 'wrapped', 'raw']).optional(),
  tags: z.array(boundedString(MAX.name)).max(MAX.many),
  metadata: JsonObject.optional(),
  sources: z.array(boundedString(MAX.id)).max(MAX.few).optional().describe('ids of the memories that a review merged into this one'),
  createdAt: Timestamp,
  updatedAt: Timestamp.optional(),
  expiresAt: Timestamp.optional(),
  score: Rate.optional().describe('only in search results; at most 1'),
});
export type MemoryEntry = z.infer<typeof MemoryEntry>;
