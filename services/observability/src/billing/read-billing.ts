import type { Principal } from '@switchyard/contracts';
import type { Collection, Documents, Filter } from '@switchyard/store';
import type { HourDocument, HourEntry, ModelSum, RecordDocument } from '../documents/collections.ts';
import { HOUR_MS } from './hour.ts';
import { toUsd } from './pico.ts';
import { addAll } from './usage-sums.ts';

const PAGE_SIZE = 500;

export interface BillingDeps {
  records: Collection<RecordDocument>;
  hours: Collection<HourDocument>;
  now: () => number;
}

type Caller = Pick<Principal, 'tenant'>;

/**
 * Returns the usage of a tenant since an instant, by agent and model. Full hours come from the rollups and the first, partial hour from its
 * rows, so that the sum is exact to the millisecond.
 */
export async function readUsage(deps: BillingDeps, caller: Caller, sinceMs: number | undefined): Promise<HourEntry[]> {
  const since = sinceMs === undefined ? 0 : Math.max(0, deps.now() - sinceMs);
  const firstFullHour = Math.ceil(since / HOUR_MS) * HOUR_MS;
  const entries: HourEntry[] = [];
  for await (const hour of readAll(deps.hours.for(caller), { at: { gte: firstFullHour } }, 'at')) entries.push(...listEntries(hour));
  if (firstFullHour === since) return entries;
  for await (const record of readAll(deps.records.for(caller), { at: { gte: since, lt: firstFullHour } }, 'at'))
    entries.push(...record.sums.map((sum) => ({ ...sum, agentId: record.agentId })));
  return entries;
}

/** Returns the sums of an hour. An agent and a model may have two: from the log and from the owners of the usage. */
export function listEntries({ entries, recovered = [] }: Pick<HourDocument, 'entries' | 'recovered'>): HourEntry[] {
  return [...entries, ...recovered];
}

/** Returns the usage of a session since an instant. */
export async function readSessionUsage(
  { records, now }: BillingDeps,
  caller: Caller,
  { sessionKey, sinceMs }: { sessionKey: string; sinceMs: number | undefined },
): Promise<ModelSum[]> {
  const since = sinceMs === undefined ? 0 : Math.max(0, now() - sinceMs);
  const sums: ModelSum[] = [];
  for await (const record of readAll(records.for(caller), { sessionKey, at: { gte: since } }, 'at')) sums.push(...record.sums);
  return sums;
}

/** Returns the hours of the last day. */
export async function readLastDay({ hours, now }: BillingDeps, caller: Caller): Promise<HourDocument[]> {
  const firstHour = (Math.floor(now() / HOUR_MS) - 23) * HOUR_MS;
  const found: HourDocument[] = [];
  for await (const hour of readAll(hours.for(caller), { at: { gte: firstHour } }, 'at')) found.push(hour);
  return found;
}

/** Yields all matching documents, oldest first. */
export async function* readAll<D extends Record<string, unknown>>(
  documents: Documents<D>,
  filter: Filter<D>,
  sortField: keyof D & string,
): AsyncGenerator<D, void> {
  let cursor: string | undefined;
  do {
    const page = await documents.find(filter, {
      sort: [[sortField, 'asc']],
      limit: PAGE_SIZE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    yield* page.items;
    ({ cursor } = page);
  } while (cursor !== undefined);
}

/** The sums of usage in the form of the billing methods. */
export function toBillingTotal(sums: Iterable<ModelSum>) {
  const { calls, unknownCalls, unpricedCalls, input, output, costPico, savedPico } = addAll(sums);
  return {
    totalCost: toUsd(BigInt(costPico)),
    totalTokens: input + output,
    callCount: calls,
    totalCacheSaved: toUsd(BigInt(savedPico)),
    unknownCalls,
    unpricedCalls,
  };
}
