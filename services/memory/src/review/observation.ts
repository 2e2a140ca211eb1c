import { createHash } from 'node:crypto';
import type { Collection, Documents, Store } from '@switchyard/store';
import type { EntryDocument } from '../documents/collections.ts';
import { forget } from '../entries/delete-entries.ts';
import type { MemoryIndex } from '../index/memory-index.ts';

/*
 * An observation stands for memories that say the same, its sources. They stay, and are found no more while it is there. It is written
 * before they are marked, so whoever dies in between leaves memories that are found beside it, and the next review marks them.
 */

export interface ObservationDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now'>;
  index: MemoryIndex;
}

/** What an observation says: what the longest of its sources does, trusted as the least of them is. */
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
/** It did not collect by itself. */
const COLLECTED_TAG = 'conversation';
const MOST_TAGS = 100;
/** Of one observation; what says the same beyond that stands for itself. */
export const MOST_SOURCES = 50;

/** The same for the same sources. */
export function observationId(sources: readonly EntryDocument[]): string {
  const ids = sources.map(({ id }) => id).toSorted();
  const hex = createHash('sha256').update(JSON.stringify(ids)).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
}

/** Its sources that are there. */
export async function sourcesOf(mine: Documents<EntryDocument>, { sourceIds = [] }: EntryDocument): Promise<EntryDocument[]> {
  if (sourceIds.length === 0) return [];
  return (await mine.find({ id: { in: sourceIds }, goneAt: null }, { limit: sourceIds.length })).items;
}

export interface Unlinking {
  /** The sources that it is to stand for no more. */
  without: (source: EntryDocument) => boolean;
  /** It goes whatever else supports it, and what does stands for itself again. */
  purge?: boolean;
}

/** Takes sources out of an observation, which says then what the others say. Without any it is forgotten. Gives whether it was. */
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

/** Forgets an observation with all that it stands for. Its sources go first: whoever asks again after a failure finds it still. */
export async function forgetSources({ entries, store, index }: ObservationDeps, tenant: string, observation: EntryDocument): Promise<void> {
  const mine = entries.for({ tenant });
  const now = store.now();
  const gone = await Promise.all((observation.sourceIds ?? []).map((id) => forget(mine, { id, now })));
  await index.note(
    tenant,
    gone.filter((entry) => entry !== null),
  );
}
