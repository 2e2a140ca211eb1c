import type { TrustLevel } from '@switchyard/contracts';
import { atIntervals, type Clock, type Settings } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { z } from 'zod';
import type { EntryDocument } from '../documents/collections.ts';
import type { MemoryIndex } from '../index/memory-index.ts';
import { forgetSources } from '../review/observation.ts';
import { forget } from '../entries/delete-entries.ts';

export interface TendingDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now'>;
  index: MemoryIndex;
  settings: Settings<'memory'>;
  log: Logger;
  clock: Clock;
  /** How often is looked for what is too old or too many. */
  tendMs: number;
}

const DAY_MS = 86_400_000;
const BATCH = 200;
/** What is trusted as the system's goes only when somebody says so. */
const MAY_GO: z.infer<typeof TrustLevel>[] = ['learned', 'external'];
/** What collects by itself while people talk. What was stored on purpose is nothing of that. */
const COLLECTED = { kinds: ['episodic', 'working'], tags: ['conversation'] };

/**
 * Forgets what is too old or too much, as `memory.retention` and `memory.compaction` say: the oldest first, and never what is trusted as
 * the system's. Replicas that do it at once find the same entries, and each is forgotten once.
 */
export function startTending(deps: TendingDeps): AsyncDisposable {
  const { clock, log, tendMs } = deps;
  const failed = (err: unknown): void => {
    log.warn({ err, errorKind: 'dependency', hint: 'it is tried again in a while' }, 'old memories were not forgotten');
  };
  return atIntervals({ clock, ms: tendMs, failed }, async (closed) => {
    const forgotten = await tend(deps, closed);
    if (forgotten > 0) log.info({ forgotten }, 'memories were forgotten that were too old or too many');
  });
}

async function tend(deps: TendingDeps, closed: () => boolean): Promise<number> {
  const { retention, compaction } = deps.settings.current.memory;
  let forgotten = await forgetOld(deps, retention.maxAgeDays, closed);
  if (retention.maxEntries > 0) forgotten += await thin(deps, { most: retention.maxEntries, left: retention.maxEntries }, closed);
  if (compaction.enabled) {
    const { threshold, targetSize } = compaction;
    forgotten += await thin(deps, { most: threshold, left: Math.min(threshold, targetSize), ...COLLECTED }, closed);
  }
  return forgotten;
}

/** 0 days is for ever. */
async function forgetOld(deps: TendingDeps, days: number, closed: () => boolean): Promise<number> {
  if (days === 0) return 0;
  const createdAt = { lt: deps.store.now() - days * DAY_MS };
  let forgotten = 0;
  for (let more = true; more && !closed();) {
    const { items, cursor } = await deps.entries
      .system()
      .find({ createdAt, goneAt: null, trustLevel: { in: MAY_GO } }, { sort: [['createdAt', 'asc']], limit: BATCH });
    for (const [tenant, some] of Object.entries(Object.groupBy(items, ({ tenant }) => tenant))) {
      const ids = (some ?? []).map(({ id }) => id);
      forgotten += await forgetAll(deps, tenant, ids);
    }
    more = cursor !== undefined;
  }
  return forgotten;
}

interface Thinning {
  /** An agent that remembers more of them than this… */
  most: number;
  /** …is left so many. */
  left: number;
  kinds?: readonly string[];
  tags?: readonly string[];
}

async function thin(deps: TendingDeps, { most, left, ...which }: Thinning, closed: () => boolean): Promise<number> {
  const index = await deps.index.get();
  if (!index) return 0;
  const scope = { ...which, now: deps.store.now(), trust: MAY_GO };
  let forgotten = 0;
  for (const { tenant, group, entries } of await index.findLargeGroups({ ...scope, max: most })) {
    for (let over = entries - left; over > 0 && !closed(); over -= BATCH) {
      const { ids } = await index.list({ ...scope, tenant, group, oldestFirst: true, offset: 0, limit: Math.min(over, BATCH) });
      if (ids.length === 0) break;
      forgotten += await forgetAll(deps, tenant, ids);
    }
  }
  return forgotten;
}

/** Of what somebody else forgot meanwhile nothing is left to do. */
async function forgetAll(deps: TendingDeps, tenant: string, ids: readonly string[]): Promise<number> {
  const { entries, store, index } = deps;
  const mine = entries.for({ tenant });
  const now = store.now();
  const { items } = await mine.find({ id: { in: ids }, derivedAt: { gt: 0 } }, { limit: BATCH });
  for (const observation of items) await forgetSources(deps, tenant, observation);
  const gone = (await Promise.all(ids.map((id) => forget(mine, { id, now })))).filter((entry) => entry !== null);
  await index.note(tenant, gone);
  return gone.length;
}
