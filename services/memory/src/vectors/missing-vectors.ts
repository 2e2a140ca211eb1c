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

/** Longer than the timeout of a batch, so that the lease of a live replica does not expire. */
const TAKEN_MS = 120_000;
/** The fields of the lease. */
export const TAKEN = ['takenBy', 'takenUntil'] as const;
/** An exhausted budget is checked again after this time at most, because it may have been raised. */
const MOST_REST_MS = 600_000;
/** Lease holder of entries that wait for a budget. */
const NOBODY = '';

export interface Looking {
  model: VectorModel;
  /** Start of this process. */
  startedAt: number;
  /** The first poll of this process. Leases under its name are then left from a previous run. */
  first: boolean;
}

/**
 * Finds entries without a vector of this model and without a lease, entries without any vector first. Without `indexOnStartup`, entries
 * from before the start that never had a vector are skipped.
 */
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

/** Acquires leases and returns the entries that no other replica leased first. */
export async function take({ entries, store, replica }: TakingDeps, found: readonly Found[]): Promise<Found[]> {
  const now = store.now();
  const taken = await Promise.all(
    found.map(({ tenant, id, takenUntil = null }) =>
      entries.for({ tenant }).update({ id, goneAt: null, takenUntil }, { set: { takenBy: replica, takenUntil: now + TAKEN_MS } }),
    ),
  );
  return found.filter((_, at) => taken[at] !== null);
}

/** Groups entries by agent, because a request counts in the budget of one agent. */
export function ofEachAgent(found: readonly Found[]): Found[][] {
  const groups = Object.groupBy(found, ({ tenant, agentId }) => JSON.stringify([tenant, agentId]));
  return Object.values(groups).flatMap((group) => (group ? [group] : []));
}

/** Releases the leases. */
export async function giveBack({ entries }: Pick<TakingDeps, 'entries'>, found: readonly Found[]): Promise<void> {
  await Promise.all(found.map(({ tenant, id }) => entries.for({ tenant }).update({ id, goneAt: null }, { unset: [...TAKEN] })));
}

/** Postpones entries, so that they do not delay entries of other agents. */
export async function rest({ entries, store }: Pick<TakingDeps, 'entries' | 'store'>, found: readonly Found[], ms: number): Promise<void> {
  const takenUntil = store.now() + Math.min(ms, MOST_REST_MS);
  await Promise.all(
    found.map(({ tenant, id }) => entries.for({ tenant }).update({ id, goneAt: null }, { set: { takenBy: NOBODY, takenUntil } })),
  );
}
