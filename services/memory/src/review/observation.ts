import { createHash } from 'node:crypto';
import type { Collection, Documents, Store } from '@switchyard/store';
import type { EntryDocument } from '../documents/collections.ts';
import { forget } from '../entries/delete-entries.ts';
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
export function saidBy(
  sources: readonly EntryDocument[],
  more: readonly string[],
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
    tags: [...new Set([...tags, OBSERVATION_TAG, ...more])].slice(0, MOST_TAGS),
    sourceIds: sources.map(({ id }) => id),
    sourceSessions: [...new Set(sessions)],
  };
}

const OBSERVATION_TAG = 'observation';
/** Tag of captured memories. Observations do not inherit it. */
const COLLECTED_TAG = 'conversation';
const MOST_TAGS = 100;
/** Maximum sources of one observation. Further similar memories stay separate. */
export const MOST_SOURCES = 50;

/** Derives the id from the sources, so that a repeated review creates no duplicate. */
export function observationId(sources: readonly EntryDocument[]): string {
  const ids = sources.map(({ id }) => id).toSorted();
  const hex = createHash('sha256').update(JSON.stringify(ids)).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
}

/** The sources that are not deleted. */
export async function sourcesOf(mine: Documents<EntryDocument>, { sourceIds = [] }: EntryDocument): Promise<EntryDocument[]> {
  if (sourceIds.length === 0) return [];
  return (await mine.find({ id: { in: sourceIds }, goneAt: null }, { limit: sourceIds.length })).items;
}

export interface Unlinking {
  /** Selects the sources to remove. */
  without: (source: EntryDocument) => boolean;
  /** Deletes the observation although sources remain; these are found again. */
  purge?: boolean;
}

/** Removes sources from an observation and derives it again from the rest. Without sources it is deleted. Returns whether it was deleted. */
export async function unlink(
  { entries, store, index }: ObservationDeps,
  tenant: string,
  { observation, without, purge = false }: Unlinking & { observation: EntryDocument },
): Promise<boolean> {
  const mine = entries.for({ tenant });
  const rest = (await sourcesOf(mine, observation)).filter((source) => !without(source));
  const now = Math.max(store.now(), observation.changedAt + 1);
  const { id } = observation;
  if (!purge && rest.length > 0) {
    const kept = await mine.update({ id, goneAt: null }, { set: { ...saidBy(rest, []), changedAt: now }, unset: ['vector', 'vectorOf'] });
    await index.note(tenant, kept ? [kept] : []);
    return false;
  }
  const free = await Promise.all(
    rest.map((source) => mine.update({ id: source.id, goneAt: null, mergedInto: id }, { set: { changedAt: now }, unset: ['mergedInto'] })),
  );
  const gone = await forget(mine, { id, now });
  await index.note(
    tenant,
    [...free, gone].filter((entry) => entry !== null),
  );
  return gone !== null;
}

/** Deletes the sources of an observation before the observation itself, so that a failed call can be repeated. */
export async function forgetSources({ entries, store, index }: ObservationDeps, tenant: string, observation: EntryDocument): Promise<void> {
  const mine = entries.for({ tenant });
  const now = store.now();
  const gone = await Promise.all((observation.sourceIds ?? []).map((id) => forget(mine, { id, now })));
  await index.note(
    tenant,
    gone.filter((entry) => entry !== null),
  );
}
