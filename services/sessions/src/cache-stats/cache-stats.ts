import type { Answered, Asker, ModelRef } from '@switchyard/models';
import { inserted, type Collection, type Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { CacheStatsDocument } from '../model/cache-stats-document.ts';
import { DAY_MS } from '../model/retention.ts';
import { savedUsd, type Priced } from './cache-savings.ts';

/** Statistics not yet written are lost with the process. Turns do not wait for them. */
const WRITE_EVERY_MS = 2_000;
/** Number of days reported. */
export const COUNTED_DAYS = 30;

type Counts = Pick<CacheStatsDocument, 'calls' | 'hits' | 'cachedTokens' | 'costUsd' | 'savedUsd'>;
type Counted = Omit<CacheStatsDocument, keyof Counts>;

/** Sum of the unwritten replies of one model to one agent. */
interface PendingStats {
  tenant: string;
  model: ModelRef;
  counted: Counted;
  sum: Omit<Counts, 'savedUsd'> & Required<Pick<Answered['usage'], 'cacheRead' | 'cacheWrite'>>;
}

/** Prompt cache hits and savings. All replicas add to the same documents. */
export interface CacheTally extends AsyncDisposable {
  note(asker: Asker, answered: Answered): void;
  /** Resolves when everything recorded here is written. */
  flush(): Promise<void>;
}

interface CacheStatsDeps {
  cached: Collection<CacheStatsDocument>;
  store: Pick<Store, 'now'>;
  models: Priced;
  log: Pick<Logger, 'warn'>;
}

export function createCacheTally({ cached, store, models, log }: CacheStatsDeps): CacheTally {
  const waiting = new Map<string, PendingStats>();
  let writing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  async function write(): Promise<void> {
    const all = [...waiting.values()];
    waiting.clear();
    for (const { tenant, model, counted, sum } of all) {
      const { cacheRead, cacheWrite, ...counts } = sum;
      const saved = await savedUsd(models, { model, usage: { cacheRead, cacheWrite } });
      await add(cached, tenant, { counted, counts: { ...counts, savedUsd: saved } });
    }
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write).catch((err: unknown) => {
      log.warn({ err, errorKind: 'dependency', hint: 'the statistics miss some calls' }, 'failed to write prompt cache statistics');
    });
    return writing;
  }

  return {
    note({ tenant, agentId }, { model, usage: { cacheRead = 0, cacheWrite = 0 }, costUsd }) {
      const now = store.now();
      const day = now - (now % DAY_MS);
      const key = `${tenant} ${agentId} ${model.provider}/${model.modelId} ${day}`;
      let there = waiting.get(key);
      if (!there) waiting.set(key, (there = { tenant, model, counted: countedIn(day, agentId, model), sum: nothing() }));
      const { sum } = there;
      sum.calls += 1;
      sum.hits += cacheRead > 0 ? 1 : 0;
      sum.cachedTokens += cacheRead;
      sum.cacheRead += cacheRead;
      sum.cacheWrite += cacheWrite;
      sum.costUsd += costUsd;
      timer ??= setTimeout(() => void flush(), WRITE_EVERY_MS).unref();
    },
    flush,
    [Symbol.asyncDispose]: flush,
  };
}

function countedIn(day: number, agentId: string, { provider, modelId: model }: ModelRef): Counted {
  const id = `${new Date(day).toISOString().slice(0, 10)} ${agentId} ${provider}/${model}`;
  return { id, agentId, provider, model, day, forgetAt: day + (COUNTED_DAYS + 1) * DAY_MS };
}

function nothing(): PendingStats['sum'] {
  return { calls: 0, hits: 0, cachedTokens: 0, costUsd: 0, cacheRead: 0, cacheWrite: 0 };
}

/** The first replica inserts the document; the others add to it. */
async function add(cached: Collection<CacheStatsDocument>, tenant: string, { counted, counts }: { counted: Counted; counts: Counts }) {
  const mine = cached.for({ tenant });
  if (await mine.update({ id: counted.id }, { inc: counts })) return;
  if (await inserted(() => mine.insert({ ...counted, ...counts }))) return;
  await mine.update({ id: counted.id }, { inc: counts });
}
