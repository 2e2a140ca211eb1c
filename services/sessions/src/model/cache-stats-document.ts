import { z } from 'zod';
import { collection } from '@switchyard/store';
import { count, instant } from './schema-fields.ts';

/** Prompt cache statistics of one agent and model for one UTC day (`cache-stats/cache-stats.ts`). */
export const CacheStatsDocument = z.object({
  id: z.string(),
  agentId: z.string(),
  provider: z.string(),
  model: z.string(),
  /** Start of the day. */
  day: instant,
  calls: count,
  hits: count,
  cachedTokens: count,
  costUsd: z.number(),
  savedUsd: z.number(),
  forgetAt: instant,
});

export type CacheStatsDocument = z.infer<typeof CacheStatsDocument>;

export const cacheStatsCollection = collection({
  name: 'cached',
  schema: CacheStatsDocument,
  key: 'id',
  indexes: [{ fields: ['day'] }, { fields: ['agentId', 'day'] }],
  expires: { field: 'forgetAt', afterMs: 0 },
});
