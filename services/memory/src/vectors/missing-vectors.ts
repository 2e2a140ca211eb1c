import type { Settings } from '@switchyard/service-kit';
import type { Collection, Store, VectorModel } from '@switchyard/store';
import type { EntryDocument } from '../documents/collections.ts';

export type Found = EntryDocument & { tenant: string };

export interface TakingDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now'>;
  settings: Settings<'embedding'>;
  replica: string;
}

/** Longer than a batch: whoever has taken an entry and is still there is not overtaken. */
const TAKEN_MS = 120_000;
/** What stands in an entry that somebody has taken. */
export const TAKEN = ['takenBy', 'takenUntil'] as const;
/** Whose budget is used up is asked for again after this time at most: it may have been raised. */
const MOST_REST_MS = 600_000;
/** Under whose name entries stand that rest. */
const NOBODY = '';

export interface Looking {
  model: VectorModel;
  /** Of this process. */
  startedAt: number;
  /** The first look of this process: what stands under its name is left from a life that ended. Later there is one batch at a time. */
  first: boolean;
}

/** Entries without a vector of this model that nobody has taken: those that never had one first; without `indexOnStartup` no such one that was there before. */
export async function lacking({ entries, store, settings, replica }: TakingDeps, { model, startedAt, first }: Looking): Promise<Found[]> {
  const { autoReindex, batch } = settings.current.embedding;
  const since = batch.indexOnStartup ? {} : { createdAt: { gte: startedAt } };
  const which = [
    { vectorOf: null, ...since },
    ...(autoReindex ? [{ vectorOf: { lt: model.name } }, { vectorOf: { gt: model.name } }] : []),
  ];
  const now = store.now();
  const left = first ? [{ takenUntil: { gt: now }, takenBy: replica }] : [];
  const free = [...left, { takenUntil: null }, { takenUntil: { lte: now } }];
  const found: Found[] = [];
  for (const filter of free.flatMap((one) => which.map((other) => ({ ...one, ...other })))) {
    const limit = batch.batchSize - found.length;
    if (limit > 0) found.push(...(await entries.system().find({ ...filter, goneAt: null }, { limit, sort: [['vectorOf', 'asc']] })).items);
  }
  return found;
}

/** Those that nobody else was faster to take. */
export async function take({ entries, store, replica }: TakingDeps, found: readonly Found[]): Promise<Found[]> {
  const now = store.now();
  const taken = await Promise.all(
    found.map(({ tenant, id, takenUntil = null }) =>
      entries.for({ tenant }).update({ id, goneAt: null, takenUntil }, { set: { takenBy: replica, takenUntil: now + TAKEN_MS } }),
    ),
  );
  return found.filter((_, at) => taken[at] !== null);
}

/** What is asked for together counts in one budget. */
export function ofEachAgent(found: readonly Found[]): Found[][] {
  const groups = Object.groupBy(found, ({ tenant, agentId }) => JSON.stringify([tenant, agentId]));
  return Object.values(groups).flatMap((group) => (group ? [group] : []));
}

/** Somebody may take them at once. */
export async function giveBack({ entries }: Pick<TakingDeps, 'entries'>, found: readonly Found[]): Promise<void> {
  await Promise.all(found.map(({ tenant, id }) => entries.for({ tenant }).update({ id, goneAt: null }, { unset: [...TAKEN] })));
}

/** Nobody takes them for a while, so that they are not in the way of other agents' entries. */
export async function rest({ entries, store }: Pick<TakingDeps, 'entries' | 'store'>, found: readonly Found[], ms: number): Promise<void> {
  const takenUntil = store.now() + Math.min(ms, MOST_REST_MS);
  await Promise.all(
    found.map(({ tenant, id }) => entries.for({ tenant }).update({ id, goneAt: null }, { set: { takenBy: NOBODY, takenUntil } })),
  );
}
