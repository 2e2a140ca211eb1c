import { z } from 'zod';
import { AgentId, Count, Rate, SessionKey, Timestamp } from '../values/common.ts';
import { defineOperations } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { MemoryType, TrustLevel } from './entry.ts';

const CALLERS = ['sessions'] as const;
/** A turn waits for it. */
const RECALL_MS = 2_000;

/** Memories that are injected into one turn. */
const Recalled = z.object({
  id: boundedString(MAX.id),
  content: boundedString(MAX.text),
  memoryType: MemoryType,
  trustLevel: TrustLevel,
  createdAt: Timestamp,
  score: Rate,
});

/** Something of a turn that is over, or of a conversation, to be remembered. */
const Captured = z.strictObject({
  turnId: boundedString(MAX.id).describe('id of the turn or summary; stored once if sent twice'),
  agentId: AgentId,
  sessionKey: SessionKey,
  content: z.string().min(1).max(MAX.text),
  memoryType: MemoryType,
  outside: z.boolean().describe('parts may come from outside the conversation'),
  sourceType: z
    .enum(['conversation', 'web'])
    .default('conversation')
    .describe('web: sent by another system, possibly written by untrusted people'),
  unlessAlike: Rate.optional().describe('similarity above which an existing memory is kept instead'),
});

/** Memory operations of agent turns. Both are called for the client of the turn. */
export const memoryOperations = defineOperations({
  'memory.recall': {
    summary: 'Returns an agent’s memories that are relevant for a query.',
    callers: CALLERS,
    params: z.strictObject({
      agentId: AgentId,
      query: z.string().min(1).max(10_000),
      maxResults: z.int().min(1).max(100),
      maxChars: z.int().positive(),
      minScore: Rate,
      trustLevels: z.array(TrustLevel).max(MAX.words),
      reranked: z.literal(true).optional().describe('the caller reranks the results'),
    }),
    result: z.object({
      entries: z.array(Recalled).max(MAX.few),
      empty: z.boolean().describe('this agent has no memories for this client'),
      textCandidates: Count,
      vectorCandidates: Count,
    }),
    blobs: ['entries'],
    emits: ['memory:recalled'],
    deadlineMs: RECALL_MS,
    idempotent: true,
  },
  'memory.capture': {
    summary: 'Captures memories from completed turns.',
    callers: CALLERS,
    params: z.strictObject({ captured: z.array(Captured).max(MAX.few) }),
    result: z.object({ stored: Count }),
    blobs: ['captured'],
    emits: ['security:injection_detected', 'security:memory_tainted'],
    idempotent: true,
  },
  'memory.forgetSession': {
    summary: 'Deletes the memories of one session.',
    callers: CALLERS,
    params: z.strictObject({
      sessionKey: SessionKey,
      purgeDerived: z.boolean().default(false).describe('including observations derived from them'),
    }),
    result: z.object({ forgotten: Count }),
    idempotent: true,
  },
});
