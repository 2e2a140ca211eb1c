import type { TrustLevel } from '@switchyard/contracts';
import { atIntervals, type Clock, type Settings } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { z } from 'zod';
import type { EntryDocument } from '../documents/collections.ts';
import type { MemoryIndex } from '../index/memory-index.ts';
import { deleteSources } from '../review/observation.ts';
import { deleteEntry } from '../entries/delete-entries.ts';

export interface RetentionDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now'>;
  index: MemoryIndex;
  settings: Settings<'memory'>;
  log: Logger;
  clock: Clock;
  /** Interval of the sweep. */
  retentionMs: number;
}

const DAY_MS = 86_400_000;
const BATCH = 200;
/** Memories of the trust level `system` are deleted only on request. */
const DELETABLE_TRUST: z.infer<typeof TrustLevel>[] = ['learned', 'external'];
/** Memories captured from conversations, as opposed to memories stored on request. */
const CAPTURED = { kinds: ['episodic', 'working'], tags: ['conversation'] };

/**
 * Deletes memories beyond `memory.retention` and `memory.compaction`, oldest first, except memories of the trust level `system`.
 * Replicas that sweep at once find the same entries, and each entry is deleted once.
 */
export function startRetention(deps: RetentionDeps): AsyncDisposable {
  const { clock, log, retentionMs } = deps;
  const failed = (err: unknown): void => {
    log.warn({ err, errorKind: 'dependency', hint: 'the next sweep retries' }, 'failed to delete old memories');
  };
  return atIntervals({ clock, ms: retentionMs, failed }, async (closed) => {
    const deleted = await sweep(deps, closed);
    if (deleted > 0) log.info({ deleted }, 'deleted memories beyond the retention limits');
  });
}

async function sweep(deps: RetentionDeps, closed: () => boolean): Promise<number> {
  const { retention, compaction } = deps.settings.current.memory;
  let deleted = await deleteOld(deps, retention.maxAgeDays, closed);
  if (retention.maxEntries > 0) deleted += await thinAgents(deps, { max: retention.maxEntries, target: retention.maxEntries }, closed);
  if (compaction.enabled) {
    const { threshold, targetSize } = compaction;
    deleted += await thinAgents(deps, { max: threshold, target: Math.min(threshold, targetSize), ...CAPTURED }, closed);
  }
  return deleted;
}

/** 0 days means no limit. */
async function deleteOld(deps: RetentionDeps, days: number, closed: () => boolean): Promise<number> {
  if (days === 0) return 0;
  const createdAt = { lt: deps.store.now() - days * DAY_MS };
  let deleted = 0;
  for (let more = true; more && !closed();) {
    const { items, cursor } = await deps.entries
      .system()
      .find({ createdAt, deletedAt: null, trustLevel: { in: DELETABLE_TRUST } }, { sort: [['createdAt', 'asc']], limit: BATCH });
    for (const [tenant, entries] of Object.entries(Object.groupBy(items, ({ tenant }) => tenant))) {
      const ids = (entries ?? []).map(({ id }) => id);
      deleted += await deleteAll(deps, tenant, ids);
    }
    more = cursor !== undefined;
  }
  return deleted;
}

interface ThinAgentsOptions {
  /** Agents with more memories are thinned. */
  max: number;
  /** Number of memories that remain. */
  target: number;
  kinds?: readonly string[];
  tags?: readonly string[];
}

async function thinAgents(deps: RetentionDeps, { max, target, ...filter }: ThinAgentsOptions, closed: () => boolean): Promise<number> {
  const index = await deps.index.get();
  if (!index) return 0;
  const scope = { ...filter, now: deps.store.now(), trust: DELETABLE_TRUST };
  let deleted = 0;
  for (const { tenant, group, entries } of await index.findLargeGroups({ ...scope, max })) {
    for (let over = entries - target; over > 0 && !closed(); over -= BATCH) {
      const { ids } = await index.list({ ...scope, tenant, group, oldestFirst: true, offset: 0, limit: Math.min(over, BATCH) });
      if (ids.length === 0) break;
      deleted += await deleteAll(deps, tenant, ids);
    }
  }
  return deleted;
}

/** Deletes entries and returns how many were deleted here and not by another replica. */
async function deleteAll(deps: RetentionDeps, tenant: string, ids: readonly string[]): Promise<number> {
  const { entries, store, index } = deps;
  const documents = entries.for({ tenant });
  const now = store.now();
  const { items } = await documents.find({ id: { in: ids }, derivedAt: { gt: 0 } }, { limit: BATCH });
  for (const observation of items) await deleteSources(deps, tenant, observation);
  const tombstones = (await Promise.all(ids.map((id) => deleteEntry(documents, { id, now })))).filter((entry) => entry !== null);
  await index.note(tenant, tombstones);
  return tombstones.length;
}
