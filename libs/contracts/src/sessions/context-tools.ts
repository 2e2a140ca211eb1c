import { z } from 'zod';
import { Count, Timestamp, TokensUsed } from '../common.ts';
import { defineOperations } from '../define.ts';
import { MAX, upTo } from '../sizes.ts';

const CALLERS = ['sessions'] as const;
/** As long as an agent may set `contextEngine.recallTimeoutMs`. */
const RECALL_DEADLINE_MS = 600_000;

const SummaryId = z
  .string()
  .max(MAX.id)
  .regex(/^sum_[0-9A-Za-z]{1,64}$/);
const EarlierId = z
  .string()
  .max(MAX.id)
  .regex(/^(sum_[0-9A-Za-z]{1,64}|turn_[0-9A-Za-z]{1,64}\/\d{1,4})$/);

/** Something that was said earlier in a conversation. */
const EarlierMessage = z.object({
  id: EarlierId,
  turn: Count.describe('the number of its turn'),
  role: z.enum(['user', 'assistant']),
  at: Timestamp,
  content: upTo(MAX.payload),
  untrusted: z.literal(true).optional().describe('some of it may come from outside of the conversation'),
});

/** What a tool answered in a turn, where all of it is kept. */
const ResultId = z
  .string()
  .max(MAX.id)
  .regex(/^turn_[0-9A-Za-z]{1,64}\/[\w-]{43}$/);

const Found = z.object({
  id: EarlierId,
  kind: z.enum(['message', 'summary']),
  role: z.enum(['user', 'assistant']).optional(),
  turn: Count.optional(),
  at: Timestamp,
  snippet: upTo(MAX.line),
  score: z.number().nonnegative(),
});

/**
 * What an agent has to look up what was said earlier in the conversation that it is in, and that its model is told no more word by
 * word. They are offered to a turn where there is such a thing. No client reaches them but through a turn.
 */
export const contextToolOperations = defineOperations({
  'ctx.search': {
    summary: 'Finds what was said earlier in this conversation, and summaries of it.',
    callers: CALLERS,
    params: z.strictObject({
      query: z.string().min(1).max(1_000).describe('words, or a regular expression'),
      mode: z.enum(['fts', 'regex']).default('fts'),
      scope: z.enum(['all', 'messages', 'summaries']).default('all'),
      limit: z.int().min(1).max(100).default(20),
    }),
    result: z.object({
      results: z.array(Found).max(MAX.few),
      whole: z.boolean().describe('whether all of the conversation was looked through'),
    }),
    blobs: ['results'],
    idempotent: true,
    reads: true,
  },
  'ctx.inspect': {
    summary: 'Shows one earlier message of this conversation, or one summary and what it stands for.',
    callers: CALLERS,
    params: z.strictObject({
      id: EarlierId.describe('of a summary or a message'),
      offset: z.int().nonnegative().default(0).describe('where to go on in a long one'),
    }),
    result: z.object({
      id: EarlierId,
      kind: z.enum(['message', 'summary']),
      role: z.enum(['user', 'assistant']).optional(),
      at: Timestamp,
      content: upTo(MAX.payload),
      chars: Count.describe('how long all of it is'),
      next: Count.optional().describe('the offset at which it goes on'),
      untrusted: z.literal(true).optional(),
      depth: Count.optional(),
      turns: z.object({ from: Count, to: Count }).optional().describe('the turns that a summary stands for'),
      children: z.array(EarlierId).max(MAX.many).optional().describe('the summaries that it stands for'),
    }),
    blobs: ['content', 'children'],
    idempotent: true,
    reads: true,
  },
  'ctx.result': {
    summary: 'Reads on in what a tool answered in this conversation, where only the beginning was shown.',
    callers: CALLERS,
    params: z.strictObject({
      id: ResultId.describe('as it stands where the answer was cut'),
      offset: z.int().nonnegative().default(0).describe('the character at which to go on'),
    }),
    result: z.object({
      id: ResultId,
      content: upTo(MAX.payload),
      chars: Count.describe('how long all of it is'),
      next: Count.optional().describe('the offset at which it goes on'),
    }),
    blobs: ['content'],
    idempotent: true,
    reads: true,
  },
  'ctx.expand': {
    summary: 'Gives the messages that a summary of this conversation stands for, word by word.',
    callers: CALLERS,
    params: z.strictObject({
      summary_id: SummaryId,
      from: EarlierId.optional().describe('the message at which to go on'),
    }),
    result: z.object({
      summaryId: SummaryId,
      messages: z.array(EarlierMessage).max(MAX.many),
      next: EarlierId.optional().describe('the message at which it goes on; absent at its end'),
    }),
    blobs: ['messages'],
    idempotent: true,
    reads: true,
  },
  'ctx.recall': {
    summary:
      'Has a question answered from what was said earlier in this conversation: from what the summaries stand for, and what is found with the query, or with the question itself.',
    callers: CALLERS,
    params: z.strictObject({
      prompt: z.string().min(1).max(4_000).describe('the question'),
      query: z.string().min(1).max(1_000).optional().describe('words to look for'),
      summary_ids: z.array(SummaryId).max(20).optional(),
      max_tokens: z.int().min(100).max(10_000).default(2_000).describe('of the answer'),
    }),
    result: z.object({
      answer: upTo(MAX.text),
      sources: z.array(EarlierId).max(MAX.many).describe('the messages that were read for it'),
      whole: z.boolean().describe('whether all that was meant could be read'),
      tokensUsed: TokensUsed,
      recallsLeft: Count.describe('of this conversation, today'),
    }),
    blobs: ['answer', 'sources'],
    deadlineMs: RECALL_DEADLINE_MS,
    idempotent: true,
  },
});
