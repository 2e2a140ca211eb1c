import { z } from 'zod';
import { MODEL_EVENTS } from './turn-events.ts';
import { Count, Timestamp, TokensUsed } from '../values/common.ts';
import { defineOperations } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

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

const outside = z.literal(true).optional().describe('parts may come from outside this system; the turn that reads them is tainted');

/** A message of an earlier turn of the conversation. */
const EarlierMessage = z.object({
  id: EarlierId,
  turn: Count.describe('number of the turn'),
  role: z.enum(['user', 'assistant']),
  at: Timestamp,
  content: boundedString(MAX.payload),
  untrusted: z.literal(true).optional().describe('parts may come from outside the conversation'),
  outside,
});

/** Id of a stored tool result of a turn. */
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
  snippet: boundedString(MAX.line),
  outside,
  score: z.number().nonnegative(),
});

/**
 * Tools to look up earlier messages of the current conversation that are no longer in the prompt. They are offered when such messages
 * exist. Clients reach them through a turn only.
 */
export const contextToolOperations = defineOperations({
  'ctx.search': {
    summary: 'Searches earlier messages and summaries of this conversation.',
    callers: CALLERS,
    params: z.strictObject({
      query: z.string().min(1).max(1_000).describe('words or a regular expression'),
      mode: z.enum(['fts', 'regex']).default('fts'),
      scope: z.enum(['all', 'messages', 'summaries']).default('all'),
      limit: z.int().min(1).max(100).default(20),
    }),
    result: z.object({
      results: z.array(Found).max(MAX.few),
      whole: z.boolean().describe('whether the whole conversation was searched'),
    }),
    blobs: ['results'],
    idempotent: true,
    reads: true,
  },
  'ctx.inspect': {
    summary: 'Returns one earlier message of this conversation, or one summary with its sources.',
    callers: CALLERS,
    params: z.strictObject({
      id: EarlierId.describe('id of a summary or a message'),
      offset: z.int().nonnegative().default(0).describe('character offset in a long text'),
    }),
    result: z.object({
      id: EarlierId,
      kind: z.enum(['message', 'summary']),
      role: z.enum(['user', 'assistant']).optional(),
      at: Timestamp,
      content: boundedString(MAX.payload),
      chars: Count.describe('total length in characters'),
      next: Count.optional().describe('offset of the next part'),
      untrusted: z.literal(true).optional(),
      outside,
      depth: Count.optional(),
      turns: z.object({ from: Count, to: Count }).optional().describe('turns that the summary covers'),
      children: z.array(EarlierId).max(MAX.many).optional().describe('summaries that the summary covers'),
    }),
    blobs: ['content', 'children'],
    idempotent: true,
    reads: true,
  },
  'ctx.result': {
    summary: 'Reads the next part of a truncated tool result of this conversation.',
    callers: CALLERS,
    params: z.strictObject({
      id: ResultId.describe('id given at the truncation'),
      offset: z.int().nonnegative().default(0).describe('character offset to read from'),
    }),
    result: z.object({
      id: ResultId,
      content: boundedString(MAX.payload),
      outside,
      chars: Count.describe('total length in characters'),
      next: Count.optional().describe('offset of the next part'),
    }),
    blobs: ['content'],
    idempotent: true,
    reads: true,
  },
  'ctx.expand': {
    summary: 'Returns the original messages that a summary of this conversation covers.',
    callers: CALLERS,
    params: z.strictObject({
      summary_id: SummaryId,
      from: EarlierId.optional().describe('message to start from'),
    }),
    result: z.object({
      summaryId: SummaryId,
      messages: z.array(EarlierMessage).max(MAX.many),
      next: EarlierId.optional().describe('next message; absent at the end'),
    }),
    blobs: ['messages'],
    idempotent: true,
    reads: true,
  },
  'ctx.recall': {
    summary:
      'Answers a question from earlier messages of this conversation: the sources of the given summaries and the matches of the query, or of the question itself.',
    callers: CALLERS,
    effect: 'read',
    params: z.strictObject({
      prompt: z.string().min(1).max(4_000).describe('the question'),
      query: z.string().min(1).max(1_000).optional().describe('search words'),
      summary_ids: z.array(SummaryId).max(20).optional(),
      max_tokens: z.int().min(100).max(10_000).default(2_000).describe('maximum tokens of the answer'),
    }),
    emits: MODEL_EVENTS,
    result: z.object({
      answer: boundedString(MAX.text),
      sources: z.array(EarlierId).max(MAX.many).describe('messages that were read'),
      outside,
      whole: z.boolean().describe('whether all sources could be read'),
      tokensUsed: TokensUsed,
      recallsLeft: Count.describe('remaining recalls of this conversation today'),
    }),
    blobs: ['answer', 'sources'],
    deadlineMs: RECALL_DEADLINE_MS,
    idempotent: true,
  },
});
