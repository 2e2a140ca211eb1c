import type { Answered, Asker } from '@switchyard/models';
import { inserted, type Collection, type Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { DAY_MS, type CachedDocument } from '../data.ts';
import { savedUsd, type Priced } from './saved.ts';

/** What is not written yet is lost with the process: these are statistics, and a turn does not wait for them. */
const WRITE_EVERY_MS = 2_000;
/** How many days back are counted. */
export const COUNTED_DAYS = 30;

type Counts = Pick<CachedDocument, 'calls' | 'hits' | 'cachedTokens' | 'costUsd' | 'savedUsd'>;
type Counted = Omit<CachedDocument, keyof Counts>;

/** What prompt caching found and saved. Every replica adds its own to the same documents. */
export interface CacheTally extends AsyncDisposable {
  note(asker: Asker, answered: Answered): void;
  /** Resolves when all that was noted here is written. */
  flush(): Promise<void>;
}

interface Given {
  cached: Collection<CachedDocument>;
  store: Pick<Store, 'now'>;
  models: Priced;
  log: Pick<Logger, 'warn'>;
}

export function createCacheTally({ cached, store, models, log }: Given): CacheTally {
  const waiting = new Map<string, { tenant: string; counted: Counted; answers: Answered[] }>();
  let writing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  async function write(): Promise<void> {
    const all = [...waiting.values()];
    waiting.clear();
    for (const { tenant, counted, answers } of all) {
      const counts = await countsOf(models, answers);
      await add(cached, tenant, { counted, counts });
    }
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write).catch((err: unknown) => {
      log.warn({ err, errorKind: 'dependency', hint: 'the statistics of prompt caching miss a few calls' }, 'counts were not written');
    });
    return writing;
  }

  return {
    note({ tenant, agentId }, answered) {
      const { provider, modelId: model } = answered.model;
      const now = store.now();
      const day = now - (now % DAY_MS);
      const id = `${new Date(day).toISOString().slice(0, 10)} ${agentId} ${provider}/${model}`;
      const key = `${tenant} ${id}`;
      const there = waiting.get(key);
      const counted = { id, agentId, provider, model, day, forgetAt: day + (COUNTED_DAYS + 1) * DAY_MS };
      if (there) there.answers.push(answered);
      else waiting.set(key, { tenant, counted, answers: [answered] });
      timer ??= setTimeout(() => void flush(), WRITE_EVERY_MS).unref();
    },
    flush,
    [Symbol.asyncDispose]: flush,
  };
}

async function countsOf(models: Priced, answers: readonly Answered[]): Promise<Counts> {
  const counts: Counts = { calls: 0, hits: 0, cachedTokens: 0, costUsd: 0, savedUsd: 0 };
  for (const answered of answers) {
    const { cacheRead = 0 } = answered.usage;
    counts.calls += 1;
    counts.hits += cacheRead > 0 ? 1 : 0;
    counts.cachedTokens += cacheRead;
    counts.costUsd += answered.costUsd;
    counts.savedUsd += await savedUsd(models, answered);
  }
  return counts;
}

/** The first of all replicas makes the document, and whoever loses that race adds to it. */
async function add(cached: Collection<CachedDocument>, tenant: string, { counted, counts }: { counted: Counted; counts: Counts }) {
  const mine = cached.for({ tenant });
  if (await mine.update({ id: counted.id }, { inc: counts })) return;
  if (await inserted(() => mine.insert({ ...counted, ...counts }))) return;
  await mine.update({ id: counted.id }, { inc: counts });
}
