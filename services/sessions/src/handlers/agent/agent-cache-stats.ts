import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { Collection, Store } from '@switchyard/store';
import type { AgentDirectory } from '../../agents/agent-directory.ts';
import type { CacheTally } from '../../cache-stats/cache-stats.ts';
import type { CacheStatsDocument } from '../../model/cache-stats-document.ts';
import { DAY_MS } from '../../model/retention.ts';

const PAGE = 1_000;
/** Maximum number of models in the result. The most expensive models are returned. */
const MAX_MODELS = 1_000;

interface Deps {
  agents: AgentDirectory;
  cached: Collection<CacheStatsDocument>;
  store: Pick<Store, 'now'>;
  tally: Pick<CacheTally, 'flush'>;
}

/** Returns prompt cache hits, misses and savings of all replicas. The last two seconds of other replicas can be missing. */
export function agentCacheStats({ agents, cached, store, tally }: Deps): Handler<'agent.cacheStats'> {
  return async ({ agentId, days }, { principal }) => {
    if (agentId !== undefined && !agents.find(principal.tenant, agentId))
      throw new ServiceError('NOT_FOUND', `Agent ${agentId} not found.`, { details: { agentId } });
    await tally.flush();
    const now = store.now();
    const filter = { ...(agentId === undefined ? {} : { agentId }), day: { gt: now - (now % DAY_MS) - days * DAY_MS } };
    const models = new Map<string, Sum>();
    const all = newSum('', '');
    for await (const one of pages(cached.for(principal), filter)) {
      const name = `${one.provider}/${one.model}`;
      const of = models.get(name) ?? newSum(one.provider, one.model);
      models.set(name, of);
      for (const sum of [of, all]) addTo(sum, one);
    }
    const { calls, hits, cachedTokens, savedUsd } = all;
    return {
      ...(agentId === undefined ? {} : { agentId }),
      cacheHits: hits,
      cacheMisses: calls - hits,
      hitRate: share(hits, calls),
      missRate: share(calls - hits, calls),
      totalTokensCached: cachedTokens,
      providers: [...models.values()]
        .toSorted((a, b) => b.costUsd - a.costUsd)
        .slice(0, MAX_MODELS)
        .map(formatModelStats),
      totalCacheSaved: savedUsd,
      sizes: {},
    };
  };
}

type Sum = Pick<CacheStatsDocument, 'provider' | 'model' | 'calls' | 'hits' | 'cachedTokens' | 'costUsd' | 'savedUsd'>;

function newSum(provider: string, model: string): Sum {
  return { provider, model, calls: 0, hits: 0, cachedTokens: 0, costUsd: 0, savedUsd: 0 };
}

function addTo(sum: Sum, { calls, hits, cachedTokens, costUsd, savedUsd }: CacheStatsDocument): void {
  sum.calls += calls;
  sum.hits += hits;
  sum.cachedTokens += cachedTokens;
  sum.costUsd += costUsd;
  sum.savedUsd += savedUsd;
}

function formatModelStats({ provider, model, calls, costUsd, savedUsd }: Sum) {
  const whole = costUsd + savedUsd;
  const cacheHitRate = whole > 0 ? savedUsd / whole : 0;
  return { provider, model, callCount: calls, totalCost: costUsd, totalCacheSaved: savedUsd, cacheHitRate };
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

async function* pages(
  mine: ReturnType<Deps['cached']['for']>,
  filter: Parameters<typeof mine.find>[0],
): AsyncGenerator<CacheStatsDocument> {
  let cursor: string | undefined;
  do {
    const page = await mine.find(filter, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
