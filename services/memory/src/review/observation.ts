import { createHash } from 'node:crypto';
import type { Collection, Documents, Store } from '@switchyard/store';
import type { EntryDocument } from '../documents/collections.ts';
import { deleteEntry } from '../entries/delete-entries.ts';
import type { MemoryIndex } from '../index/memory-index.ts';

/*
 * An observation replaces similar memories, its sources, in searches. The sources stay stored and are hidden while it exists. It is
 * written before the sources are marked: after a crash in between both are found, and the next review marks the sources.
 */

export interface ObservationDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now'>;
  index: MemoryIndex;
}

/** The content of an observation: the longest source, with the lowest trust level of all sources. */
export function deriveContent(
  sources: readonly EntryDocument[],
  extraTags: readonly string[],
): Partial<EntryDocument> & Pick<EntryDocument, 'content'> {
  const [best] = sources.toSorted((a, b) => b.content.length - a.content.length || b.createdAt - a.createdAt);
  if (!best) throw new Error('an observation has a source');
  const sessions = sources.flatMap(({ sessionKey }) => sessionKey ?? []);
  const tags = sources.flatMap(({ tags }) => tags).filter((tag) => tag !== COLLECTED_TAG);
  const has = (level: EntryDocument['taintLevel']): boolean => sources.some(({ taintLevel }) => taintLevel === level);
  return {
    content: best.content,
    memoryType: best.memoryType,
    trustLevel: sources.some(({ trustLevel }) => trustLevel === 'external') ? 'external' : 'learned',
    taintLevel: has('raw') ? 'raw' : has('wrapped') ? 'wrapped' : 'clean',
    tags: [...new Set([...tags, OBSERVATION_TAG, ...extraTags])].slice(0, MAX_TAGS),
    sourceIds: sources.map(({ id }) => id),
    sourceSessions: [...new Set(sessions)],
  };
}

const OBSERVATION_TAG = 'observation';
/** Tag of captured memories. Observations do not inherit it. */
const COLLECTED_TAG = 'conversation';
const MAX_TAGS = 100;
/** Maximum sources of one observation. Further similar memories stay separate. */
export const MAX_SOURCES = 50;

/** Derives the id from the sources, so that a repeated review creates no duplicate. */
export function observationId(sources: readonly EntryDocument[]): string {
  const ids = sources.map(({ id }) => id).toSorted();
  const hex = createHash('sha256').update(JSON.stringify(ids)).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
}

/** The sources that are not deleted. */
export async function findSources(documents: Documents<EntryDocument>, { sourceIds = [] }: EntryDocument): Promise<EntryDocument[]> {
  if (sourceIds.length === 0) return [];
  return (await documents.find({ id: { in: sourceIds }, deletedAt: null }, { limit: sourceIds.length })).items;
}

export interface UnlinkOptions {
  /** Selects the sources to remove. */
  isRemoved: (source: EntryDocument) => boolean;
  /** Deletes the observation although sources remain; these are found again. */
  purge?: boolean;
}

/** Removes sources from an observation and derives it again from the rest. Without sources it is deleted. Returns whether it was deleted. */
export async function unlink(
  { entries, store, index }: ObservationDeps,
  tenant: string,
  { observation, isRemoved, purge = false }: UnlinkOptions & { observation: EntryDocument },
): Promise<boolean> {
  const documents = entries.for({ tenant });
  const remaining = (await findSources(documents, observation)).filter((source) => !isRemoved(source));
  const now = Math.max(store.now(), observation.changedAt + 1);
  const { id } = observation;
  if (!purge && remaining.length > 0) {
    const updated = await documents.update(
      { id, deletedAt: null },
      { set: { ...deriveContent(remaining, []), changedAt: now }, unset: ['vector', 'vectorModel'] },
    );
    await index.note(tenant, updated ? [updated] : []);
    return false;
  }
  const released = await Promise.all(
    remaining.map((source) =>
      documents.update({ id: source.id, deletedAt: null, mergedInto: id }, { set: { changedAt: now }, unset: ['mergedInto'] }),
    ),
  );
  const deleted = await deleteEntry(documents, { id, now });
  await index.note(
    tenant,
    [...released, deleted].filter((entry) => entry !== null),
  );
  return deleted !== null;
}

/** Deletes the sources of an observation before the observation itself, so that a failed call can be repeated. */
export async function deleteSources({ entries, store, index }: ObservationDeps, tenant: string, observation: EntryDocument): Promise<void> {
  const documents = entries.for({ tenant });
  const now = store.now();
  const deleted = await Promise.all((observation.sourceIds ?? []).map((id) => deleteEntry(documents, { id, now })));
  await index.note(
    tenant,
    deleted.filter((entry) => entry !== null),
  );
}
