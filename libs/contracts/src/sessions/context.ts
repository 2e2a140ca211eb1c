import { z } from 'zod';
import { AgentId, Count, IsoTime, pageSize, SessionKey, Timestamp } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { EvidentTurn } from './evidence.ts';

/** A conversation as its durable history knows it. */
export const ContextConversation = z.object({
  conversation_id: boundedString(MAX.id),
  tenant_id: boundedString(MAX.id),
  agent_id: AgentId,
  session_key: SessionKey,
  title: z.null(),
  created_at: IsoTime,
  updated_at: IsoTime,
  message_count: Count,
});

/** A summary in the tree that leads down to the raw messages. */
export const ContextNode = z.object({
  summaryId: boundedString(MAX.id),
  kind: z.enum(['leaf', 'condensed']),
  depth: Count,
  tokenCount: Count,
  contentPreview: boundedString(MAX.line).describe('for display only: bounded and untrusted'),
  childIds: z.array(boundedString(MAX.id)).max(MAX.all),
  parentIds: z.array(boundedString(MAX.id)).max(MAX.all),
  taint: z.boolean().describe('whether a source is untrusted'),
  createdAt: Timestamp,
});

export const contextMethods = defineMethods({
  'context.conversations': {
    summary: 'Lists the conversations of the caller’s agent, newest activity first.',
    description: 'Agent and tenant come from the caller, never from the params.',
    scope: 'rpc',
    params: z.strictObject({ limit: pageSize(100, 1000), offset: z.int().nonnegative().default(0) }),
    result: z.object({ conversations: z.array(ContextConversation).max(MAX.many), total: Count }),
    blobs: ['conversations'],
    idempotent: true,
    reads: true,
    examples: [
      {
        params: { limit: 10 },
        result: {
          conversations: [
            {
              conversation_id: 'epoch_4fT0mUq2Zs8KxY1bNcVdGh',
              tenant_id: 'default',
              agent_id: 'default',
              session_key: 'default:alice:gateway',
              title: null,
              created_at: '2025-11-21T10:00:00.000Z',
              updated_at: '2025-11-21T10:00:01.200Z',
              message_count: 2,
            },
          ],
          total: 1,
        },
      },
    ],
  },
  'context.tree': {
    summary: 'Returns the summary tree of one conversation.',
    description:
      'A session key selects its current conversation. For the last `turns` the result contains the model input of each step: messages, memories, the question, and earlier tool calls with their results.',
    scope: 'rpc',
    params: z.strictObject({ conversation_id: z.string().min(1).max(256), turns: z.int().min(0).max(100).default(0) }),
    result: z.object({
      conversationId: boundedString(MAX.id),
      nodes: z.array(ContextNode).max(MAX.all),
      messageCount: Count.describe('messages not covered by a summary'),
      turns: z.array(EvidentTurn).max(MAX.few).optional().describe('requested turns, newest first'),
    }),
    blobs: ['nodes', 'turns'],
    idempotent: true,
    reads: true,
    errors: ['NOT_FOUND'],
    examples: [
      {
        params: { conversation_id: 'default:alice:gateway' },
        result: {
          conversationId: 'epoch_4fT0mUq2Zs8KxY1bNcVdGh',
          nodes: [
            {
              summaryId: 'sum_1',
              kind: 'leaf',
              depth: 0,
              tokenCount: 1180,
              contentPreview: 'Alice asked for three offers…',
              childIds: [],
              parentIds: [],
              taint: false,
              createdAt: 1763719200000,
            },
          ],
          messageCount: 8,
        },
      },
    ],
  },
});
