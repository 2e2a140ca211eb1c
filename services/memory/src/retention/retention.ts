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
  /** Interval of the sweep. */
  tendMs: number;
}

const DAY_MS = 86_400_000;
const BATCH = 200;
/** Memories of the trust level `system` are deleted only on request. */
const MAY_GO: z.infer<typeof TrustLevel>[] = ['learned', 'external'];
/** Memories captured from conversations, as opposed to memories stored on request. */
const COLLECTED = { kinds: ['episodic', 'working'], tags: ['conversation'] };

/**
 * Deletes memories beyond `memory.retention` and `memory.compaction`, oldest first, except memories of the trust level `system`.
 * Replicas that sweep at once find the same entries, and each entry is deleted once.
 */
export function startTending(deps: TendingDeps): AsyncDisposable {
  const { clock, log, tendMs } = deps;
  const failed = (err: unknown): void => {
    log.warn({ err, errorKind: 'dependency', hint: 'the next sweep retries' }, 'failed to delete old memories');
  };
  return atIntervals({ clock, ms: tendMs, failed }, async (closed) => {
    const forgotten = await tend(deps, closed);
    if (forgotten > 0) log.info({ forgotten }, 'deleted memories beyond the retention limits');
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

/** 0 days means no limit. */
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
  /** Agents with more memories are thinned. */
  most: number;
  /** Number of memories that remain. */
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

/** Deletes entries and returns how many were deleted here and not by another replica. */
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
