import { inserted, type SearchIndex } from '@switchyard/store';
import type { EntryDocument } from '../documents/collections.ts';
import { chooseSeeds, type ReviewLimits } from './review-seeds.ts';
import { MAX_SOURCES, observationId, deriveContent, type ObservationDeps } from './observation.ts';

export interface ConsolidateOptions {
  tenant: string;
  agentId: string;
  /** Minimum similarity of memories that are merged. */
  threshold: number;
  autoTags: readonly string[];
  limits: ReviewLimits;
  closed: () => boolean;
}

export interface ConsolidationResult {
  clustersProcessed: number;
  observationsCreated: number;
  dedupHits: number;
}

/** Number of newest memories that one review considers. */
const MAX_REVIEWED = 500;
const TRUST = ['learned', 'external'];

/** Merges similar memories of one owner into observations. Expiring memories and system memories are skipped. */
export async function consolidate(deps: ObservationDeps, options: ConsolidateOptions): Promise<ConsolidationResult> {
  const result: ConsolidationResult = { clustersProcessed: 0, observationsCreated: 0, dedupHits: 0 };
  const index = await deps.index.get();
  if (!index) return result;
  const { tenant, agentId: group, closed } = options;
  const scope = { tenant, group, now: deps.store.now(), trust: TRUST };
  const { ids } = await index.list({ ...scope, oldestFirst: false, offset: 0, limit: MAX_REVIEWED });
  if (ids.length === 0) return result;
  const { items } = await deps.entries.for({ tenant }).find({ id: { in: ids }, deletedAt: null }, { limit: ids.length });
  const newestFirst = items.toSorted((a, b) => b.createdAt - a.createdAt);
  const seen = new Set<string>();
  for (const { id } of chooseSeeds(newestFirst, options.limits)) {
    if (closed()) break;
    if (seen.has(id)) continue;
    const cluster = (await findSimilar(deps, index, { ...options, id })).filter((one) => !seen.has(one.id));
    for (const one of cluster) seen.add(one.id);
    if (cluster.length < 2) continue;
    const merged = await mergeCluster(deps, cluster, options);
    result.clustersProcessed += 1;
    result.observationsCreated += merged.created ? 1 : 0;
    result.dedupHits += merged.sources;
  }
  return result;
}

async function findSimilar(
  { entries, store }: ObservationDeps,
  index: SearchIndex,
  { tenant, agentId: group, threshold: minCosine, id }: ConsolidateOptions & { id: string },
): Promise<EntryDocument[]> {
  const ids = await index.findSimilar({ tenant, group, id, now: store.now(), trust: TRUST, minCosine, limit: MAX_SOURCES });
  if (ids.length < 2) return [];
  const { items } = await entries.for({ tenant }).find({ id: { in: ids }, deletedAt: null }, { limit: ids.length });
  return items.filter(
    ({ mergedInto, expiresAt, trustLevel }) => mergedInto === undefined && expiresAt === undefined && trustLevel !== 'system',
  );
}

/** Adds the cluster to its existing observation, or derives a new one. */
async function mergeCluster(
  deps: ObservationDeps,
  cluster: readonly EntryDocument[],
  options: ConsolidateOptions,
): Promise<{ created: boolean; sources: number }> {
  const { entries, store, index } = deps;
  const { tenant, autoTags } = options;
  const documents = entries.for({ tenant });
  const existing = cluster.find(({ derivedAt }) => derivedAt !== undefined);
  const sources = cluster.filter(({ derivedAt }) => derivedAt === undefined);
  const observation = existing
    ? await addSources(deps, tenant, { existing, sources, autoTags })
    : await derive(deps, tenant, { sources, autoTags });
  if (!observation) return { created: false, sources: 0 };
  const changedAt = store.now();
  const marked = await Promise.all(
    sources.map(({ id, changedAt: at }) =>
      documents.update(
        { id, deletedAt: null, mergedInto: null },
        { set: { mergedInto: observation.id, changedAt: Math.max(changedAt, at + 1) } },
      ),
    ),
  );
  const written = marked.filter((entry) => entry !== null);
  await index.note(tenant, [observation, ...written]);
  return { created: existing === undefined, sources: written.length };
}

interface DeriveOptions {
  sources: readonly EntryDocument[];
  autoTags: readonly string[];
}

async function derive(
  { entries, store }: ObservationDeps,
  tenant: string,
  { sources, autoTags }: DeriveOptions,
): Promise<EntryDocument | undefined> {
  const [first] = sources;
  if (!first) return undefined;
  const { agentId, owner, userId } = first;
  const now = store.now();
  const observation: EntryDocument = {
    ...first,
    ...deriveContent(sources, autoTags),
    id: observationId(sources),
    agentId,
    owner,
    userId,
    who: 'memory-review',
    createdAt: Math.max(...sources.map(({ createdAt }) => createdAt)),
    changedAt: now,
    derivedAt: now,
  };
  for (const field of ['vector', 'vectorModel', 'leasedBy', 'leasedUntil', 'sessionKey', 'channel', 'metadata', 'purgeAt'] as const)
    delete observation[field];
  const documents = entries.for({ tenant });
  await inserted(() => documents.insert(observation));
  const stored = await documents.get(observation.id);
  return stored?.deletedAt === undefined ? (stored ?? undefined) : undefined;
}

/** Adds sources to an observation. Undefined if another write changed it meanwhile. */
async function addSources(
  { entries, store }: ObservationDeps,
  tenant: string,
  { existing, sources, autoTags }: DeriveOptions & { existing: EntryDocument },
): Promise<EntryDocument | undefined> {
  const documents = entries.for({ tenant });
  const knownIds = new Set(existing.sourceIds);
  const added = sources.filter(({ id }) => !knownIds.has(id));
  if (added.length === 0) return existing;
  const { id, changedAt, sourceIds = [], sourceSessions = [] } = existing;
  if (sourceIds.length + added.length > MAX_SOURCES) return undefined;
  const content = deriveContent([existing, ...added], autoTags);
  const merged = {
    sourceIds: [...sourceIds, ...added.map((one) => one.id)],
    sourceSessions: [...new Set([...sourceSessions, ...(content.sourceSessions ?? [])])],
  };
  const now = Math.max(store.now(), changedAt + 1);
  const updated = await documents.update(
    { id, deletedAt: null, changedAt },
    { set: { ...content, ...merged, changedAt: now }, unset: ['vector', 'vectorModel'] },
  );
  return updated ?? undefined;
}
