import { z } from 'zod';
import { AgentId, Count, DurationMs, Timestamp } from '../common.ts';
import { defineEvents } from '../define.ts';

const took = { timestamp: Timestamp, agentId: AgentId, durationMs: DurationMs };

/** How memories were looked for and looked through. No payload says what was asked or found. */
export const memoryEvents = defineEvents({
  'memory:recalled': {
    beyond: true,
    summary: 'Memories were looked for that may help with a question of a turn.',
    payload: z.object({
      ...took,
      lanes: z
        .array(z.enum(['text', 'vector']))
        .max(2)
        .describe('what was searched'),
      ftsCandidates: Count.describe('found by words'),
      vectorCandidates: Count.describe('found by likeness; 0 where no vector of the question could be had'),
      entityCandidates: Count.describe('always 0: there is no such lane'),
      finalCount: Count,
      rerankerAvailable: z.boolean().describe('a model puts them into order afterwards'),
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
    summary: 'What was found for a question of a turn was put into order by a model, where its agent wants that.',
    payload: z.object({
      ...took,
      candidateCount: Count,
      hitCount: Count.describe('how many there were afterwards: none is lost'),
      rerankerAvailable: z.boolean().describe('false while a model that was too late again and again is left alone'),
      timedOut: z.boolean(),
      fellBack: z.boolean().describe('they stayed in the order in which they were found'),
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
    summary: 'What an agent remembers was reviewed, and what says the same was made one.',
    payload: z.object({
      ...took,
      clustersProcessed: Count,
      observationsCreated: Count,
      dedupHits: Count.describe('memories that an observation stands for now'),
    }),
    example: { timestamp: 1763719200000, agentId: 'default', clustersProcessed: 2, observationsCreated: 1, dedupHits: 5, durationMs: 40 },
  },
});
