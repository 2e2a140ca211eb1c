import { z } from 'zod';
import { AgentId, Count, DurationMs, Timestamp } from '../values/common.ts';
import { defineEvents } from '../definition/define.ts';

const took = { timestamp: Timestamp, agentId: AgentId, durationMs: DurationMs };

/** Searches and inspections of memories. No payload contains queries or results. */
export const memoryEvents = defineEvents({
  'memory:recalled': {
    beyond: true,
    summary: 'A turn searched for memories.',
    payload: z.object({
      ...took,
      lanes: z
        .array(z.enum(['text', 'vector']))
        .max(2)
        .describe('searched indexes'),
      ftsCandidates: Count.describe('full-text hits'),
      vectorCandidates: Count.describe('vector hits; 0 without a vector of the query'),
      entityCandidates: Count.describe('always 0: not supported'),
      finalCount: Count,
      rerankerAvailable: z.boolean().describe('reranked by a model afterwards'),
    }),
    example: {
      timestamp: 1763719200000,
      agentId: 'default',
      lanes: ['text', 'vector'],
      ftsCandidates: 4,
      vectorCandidates: 7,
      entityCandidates: 0,
      finalCount: 5,
      rerankerAvailable: false,
      durationMs: 6,
    },
  },
  'memory:reranked': {
    beyond: true,
    summary: 'A model reranked the memories found for a turn.',
    payload: z.object({
      ...took,
      candidateCount: Count,
      hitCount: Count.describe('number of memories afterwards; none is dropped'),
      rerankerAvailable: z.boolean().describe('false while reranking is paused after repeated timeouts'),
      timedOut: z.boolean(),
      fellBack: z.boolean().describe('the order was not changed'),
    }),
    example: {
      timestamp: 1763719200000,
      agentId: 'default',
      candidateCount: 12,
      hitCount: 12,
      rerankerAvailable: true,
      timedOut: false,
      fellBack: false,
      durationMs: 320,
    },
  },
  'memory:consolidated': {
    beyond: true,
    summary: 'Memories of an agent were reviewed and duplicates merged.',
    payload: z.object({
      ...took,
      clustersProcessed: Count,
      observationsCreated: Count,
      dedupHits: Count.describe('memories merged into observations'),
    }),
    example: { timestamp: 1763719200000, agentId: 'default', clustersProcessed: 2, observationsCreated: 1, dedupHits: 5, durationMs: 40 },
  },
});
