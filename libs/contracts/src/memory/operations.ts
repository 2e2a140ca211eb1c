import { z } from 'zod';
import { AgentId, Count, Rate, SessionKey, Timestamp } from '../common.ts';
import { defineOperations } from '../define.ts';
import { MAX, upTo } from '../sizes.ts';
import { MemoryType, TrustLevel } from './entry.ts';

const CALLERS = ['sessions'] as const;
/** A turn waits for it. */
const RECALL_MS = 2_000;

/** What one turn of an agent is reminded of. */
const Recalled = z.object({
  id: upTo(MAX.id),
  content: upTo(MAX.text),
  memoryType: MemoryType,
  trustLevel: TrustLevel,
  createdAt: Timestamp,
  score: Rate,
});

/** Something of a turn that is over, or of a conversation, to be remembered. */
const Captured = z.strictObject({
  turnId: upTo(MAX.id).describe('of the turn, or of the summary; told twice, it is kept once'),
  agentId: AgentId,
  sessionKey: SessionKey,
  content: z.string().min(1).max(MAX.text),
  memoryType: MemoryType,
  outside: z.boolean().describe('some of it may come from outside of the conversation'),
  sourceType: z
    .enum(['conversation', 'web'])
    .default('conversation')
    .describe('web: another system sent it, and strangers may have written it'),
  unlessAlike: Rate.optional().describe('it is not kept where something as near as this is remembered already'),
});

/** What the turns of agents ask and tell. Both are made for the client of the turn. */
export const memoryOperations = defineOperations({
  'memory.recall': {
    summary: 'What an agent remembers that may help with a question.',
    callers: CALLERS,
    params: z.strictObject({
      agentId: AgentId,
      query: z.string().min(1).max(10_000),
      maxResults: z.int().min(1).max(100),
      maxChars: z.int().positive(),
      minScore: Rate,
      trustLevels: z.array(TrustLevel).max(MAX.words),
      reranked: z.literal(true).optional().describe('whoever asks puts them into an order of its own'),
    }),
    result: z.object({
      entries: z.array(Recalled).max(MAX.few),
      empty: z.boolean().describe('there is nothing at all that this agent could recall for this client'),
      textCandidates: Count,
      vectorCandidates: Count,
    }),
    blobs: ['entries'],
    emits: ['memory:recalled'],
    deadlineMs: RECALL_MS,
    idempotent: true,
  },
  'memory.capture': {
    summary: 'Keeps what is to be remembered of turns that are over.',
    callers: CALLERS,
    params: z.strictObject({ captured: z.array(Captured).max(MAX.few) }),
    result: z.object({ stored: Count }),
    blobs: ['captured'],
    emits: ['security:injection_detected', 'security:memory_tainted'],
    idempotent: true,
  },
  'memory.forgetSession': {
    summary: 'Forgets what was kept of one session.',
    callers: CALLERS,
    params: z.strictObject({
      sessionKey: SessionKey,
      purgeDerived: z.boolean().default(false).describe('with what was made of them and of others that say the same'),
    }),
    result: z.object({ forgotten: Count }),
    idempotent: true,
  },
});
