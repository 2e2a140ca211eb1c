import type { Settings } from '@switchyard/service-kit';
import type { Collection, Store, VectorModel } from '@switchyard/store';
import type { EntryDocument } from '../documents/collections.ts';

export type TenantEntry = EntryDocument & { tenant: string };

export interface VectorLeaseDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now'>;
  settings: Settings<'embedding'>;
  replica: string;
}

/** Longer than the timeout of a batch, so that the lease of a live replica does not expire. */
const LEASE_MS = 120_000;
/** The fields of the lease. */
export const LEASE_FIELDS = ['leasedBy', 'leasedUntil'] as const;
/** An exhausted budget is checked again after this time at most, because it may have been raised. */
const MAX_POSTPONE_MS = 600_000;
/** Lease holder of entries that wait for a budget. */
const NO_REPLICA = '';

export interface FindMissingOptions {
  model: VectorModel;
  /** Start of this process. */
  startedAt: number;
  /** The first poll of this process. Leases under its name are then left from a previous run. */
  isFirstPoll: boolean;
}

/**
 * Finds entries without a vector of this model and without a lease, entries without any vector first. Without `indexOnStartup`, entries
 * from before the start that never had a vector are skipped.
 */
export async function findMissing(
  { entries, store, settings, replica }: VectorLeaseDeps,
  { model, startedAt, isFirstPoll }: FindMissingOptions,
): Promise<TenantEntry[]> {
  const { autoReindex, batch } = settings.current.embedding;
  const since = batch.indexOnStartup ? {} : { createdAt: { gte: startedAt } };
  const conditions = [
    { vectorModel: null, ...since },
    ...(autoReindex ? [{ vectorModel: { lt: model.name } }, { vectorModel: { gt: model.name } }] : []),
  ];
  const now = store.now();
  const ownLeases = isFirstPoll ? [{ leasedUntil: { gt: now }, leasedBy: replica }] : [];
  const available = [...ownLeases, { leasedUntil: null }, { leasedUntil: { lte: now } }];
  const matches: TenantEntry[] = [];
  for (const filter of available.flatMap((one) => conditions.map((other) => ({ ...one, ...other })))) {
    const limit = batch.batchSize - matches.length;
    if (limit > 0)
      matches.push(...(await entries.system().find({ ...filter, deletedAt: null }, { limit, sort: [['vectorModel', 'asc']] })).items);
  }
  return matches;
}

/** Acquires leases and returns the entries that no other replica leased first. */
export async function leaseEntries({ entries, store, replica }: VectorLeaseDeps, found: readonly TenantEntry[]): Promise<TenantEntry[]> {
  const now = store.now();
  const leases = await Promise.all(
    found.map(({ tenant, id, leasedUntil = null }) =>
      entries.for({ tenant }).update({ id, deletedAt: null, leasedUntil }, { set: { leasedBy: replica, leasedUntil: now + LEASE_MS } }),
    ),
  );
  return found.filter((_, at) => leases[at] !== null);
}

/** Groups entries by agent, because a request counts in the budget of one agent. */
export function groupByAgent(found: readonly TenantEntry[]): TenantEntry[][] {
  const groups = Object.groupBy(found, ({ tenant, agentId }) => JSON.stringify([tenant, agentId]));
  return Object.values(groups).flatMap((group) => (group ? [group] : []));
}

/** Releases the leases. */
export async function releaseLeases({ entries }: Pick<VectorLeaseDeps, 'entries'>, found: readonly TenantEntry[]): Promise<void> {
  await Promise.all(found.map(({ tenant, id }) => entries.for({ tenant }).update({ id, deletedAt: null }, { unset: [...LEASE_FIELDS] })));
}

/** Postpones entries, so that they do not delay entries of other agents. */
export async function postpone(
  { entries, store }: Pick<VectorLeaseDeps, 'entries' | 'store'>,
  found: readonly TenantEntry[],
  ms: number,
): Promise<void> {
  const leasedUntil = store.now() + Math.min(ms, MAX_POSTPONE_MS);
  await Promise.all(
    found.map(({ tenant, id }) => entries.for({ tenant }).update({ id, deletedAt: null }, { set: { leasedBy: NO_REPLICA, leasedUntil } })),
  );
}
