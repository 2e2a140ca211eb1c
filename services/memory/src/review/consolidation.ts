import { inserted, type SearchIndex } from '@switchyard/store';
import type { EntryDocument } from '../documents/collections.ts';
import { chooseSeeds, type ReviewLimits } from './review-seeds.ts';
import { MOST_SOURCES, observationId, saidBy, type ObservationDeps } from './observation.ts';

export interface Reviewing {
  tenant: string;
  agentId: string;
  /** Minimum similarity of memories that are merged. */
  threshold: number;
  autoTags: readonly string[];
  limits: ReviewLimits;
  closed: () => boolean;
}

export interface Reviewed {
  clustersProcessed: number;
  observationsCreated: number;
  dedupHits: number;
}

/** Number of newest memories that one review considers. */
const MOST_REVIEWED = 500;
const TRUST = ['learned', 'external'];

/** Merges similar memories of one owner into observations. Expiring memories and system memories are skipped. */
export async function consolidate(deps: ObservationDeps, reviewing: Reviewing): Promise<Reviewed> {
  const reviewed: Reviewed = { clustersProcessed: 0, observationsCreated: 0, dedupHits: 0 };
  const index = await deps.index.get();
  if (!index) return reviewed;
  const { tenant, agentId: group, closed } = reviewing;
  const scope = { tenant, group, now: deps.store.now(), trust: TRUST };
  const { ids } = await index.list({ ...scope, oldestFirst: false, offset: 0, limit: MOST_REVIEWED });
  if (ids.length === 0) return reviewed;
  const { items } = await deps.entries.for({ tenant }).find({ id: { in: ids }, goneAt: null }, { limit: ids.length });
  const newestFirst = items.toSorted((a, b) => b.createdAt - a.createdAt);
  const seen = new Set<string>();
  for (const { id } of chooseSeeds(newestFirst, reviewing.limits)) {
    if (closed()) break;
    if (seen.has(id)) continue;
    const cluster = (await near(deps, index, { ...reviewing, id })).filter((one) => !seen.has(one.id));
    for (const one of cluster) seen.add(one.id);
    if (cluster.length < 2) continue;
    const merged = await merge(deps, cluster, reviewing);
    reviewed.clustersProcessed += 1;
    reviewed.observationsCreated += merged.created ? 1 : 0;
    reviewed.dedupHits += merged.sources;
  }
  return reviewed;
}

async function near(
  { entries, store }: ObservationDeps,
  index: SearchIndex,
  { tenant, agentId: group, threshold: least, id }: Reviewing & { id: string },
): Promise<EntryDocument[]> {
  const ids = await index.findSimilar({ tenant, group, id, now: store.now(), trust: TRUST, minCosine: least, limit: MOST_SOURCES });
  if (ids.length < 2) return [];
  const { items } = await entries.for({ tenant }).find({ id: { in: ids }, goneAt: null }, { limit: ids.length });
  return items.filter(
    ({ mergedInto, expiresAt, trustLevel }) => mergedInto === undefined && expiresAt === undefined && trustLevel !== 'system',
  );
}

/** Adds the cluster to its existing observation, or derives a new one. */
async function merge(
  deps: ObservationDeps,
  cluster: readonly EntryDocument[],
  reviewing: Reviewing,
): Promise<{ created: boolean; sources: number }> {
  const { entries, store, index } = deps;
  const { tenant, autoTags } = reviewing;
  const mine = entries.for({ tenant });
  const before = cluster.find(({ derivedAt }) => derivedAt !== undefined);
  const sources = cluster.filter(({ derivedAt }) => derivedAt === undefined);
  const observation = before ? await widen(deps, tenant, { before, sources, autoTags }) : await make(deps, tenant, { sources, autoTags });
  if (!observation) return { created: false, sources: 0 };
  const changedAt = store.now();
  const marked = await Promise.all(
    sources.map(({ id, changedAt: at }) =>
      mine.update({ id, goneAt: null, mergedInto: null }, { set: { mergedInto: observation.id, changedAt: Math.max(changedAt, at + 1) } }),
    ),
  );
  const written = marked.filter((entry) => entry !== null);
  await index.note(tenant, [observation, ...written]);
  return { created: before === undefined, sources: written.length };
}

interface Making {
  sources: readonly EntryDocument[];
  autoTags: readonly string[];
}

async function make(
  { entries, store }: ObservationDeps,
  tenant: string,
  { sources, autoTags }: Making,
): Promise<EntryDocument | undefined> {
  const [first] = sources;
  if (!first) return undefined;
  const { agentId, owner, userId } = first;
  const now = store.now();
  const observation: EntryDocument = {
    ...first,
    ...saidBy(sources, autoTags),
    id: observationId(sources),
    agentId,
    owner,
    userId,
    who: 'memory-review',
    createdAt: Math.max(...sources.map(({ createdAt }) => createdAt)),
    changedAt: now,
    derivedAt: now,
  };
  for (const field of ['vector', 'vectorOf', 'takenBy', 'takenUntil', 'sessionKey', 'channel', 'metadata', 'forgetAt'] as const)
    delete observation[field];
  const mine = entries.for({ tenant });
  await inserted(() => mine.insert(observation));
  const there = await mine.get(observation.id);
  return there?.goneAt === undefined ? (there ?? undefined) : undefined;
}

/** Adds sources to an observation. Undefined if another write changed it meanwhile. */
async function widen(
  { entries, store }: ObservationDeps,
  tenant: string,
  { before, sources, autoTags }: Making & { before: EntryDocument },
): Promise<EntryDocument | undefined> {
  const mine = entries.for({ tenant });
  const known = new Set(before.sourceIds);
  const added = sources.filter(({ id }) => !known.has(id));
  if (added.length === 0) return before;
  const { id, changedAt, sourceIds = [], sourceSessions = [] } = before;
  if (sourceIds.length + added.length > MOST_SOURCES) return undefined;
  const said = saidBy([before, ...added], autoTags);
  const all = {
    sourceIds: [...sourceIds, ...added.map((one) => one.id)],
    sourceSessions: [...new Set([...sourceSessions, ...(said.sourceSessions ?? [])])],
  };
  const now = Math.max(store.now(), changedAt + 1);
  const widened = await mine.update(
    { id, goneAt: null, changedAt },
    { set: { ...said, ...all, changedAt: now }, unset: ['vector', 'vectorOf'] },
  );
  return widened ?? undefined;
}
