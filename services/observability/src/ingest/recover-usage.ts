import type { Bus } from '@switchyard/bus';
import { DEFAULT_TENANT, servicePrincipal, type Result } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { toHourId } from '../billing/hour.ts';
import type { PositionDocument } from '../documents/collections.ts';
import { RECOVERED, sumRecovered, toRecoveredSeq, type FoldDeps, type TenantRecord } from './fold-hours.ts';
import type { PriceList } from './price-list.ts';
import { readRecords } from './read-record.ts';
import { BATCH_SIZE, storeRecords } from './store-records.ts';

/** An event may be published this long after the turn ended that it announces. */
const PUBLISH_DELAY_MS = 60_000;
/** The operations that return stored usage, one of each service that publishes usage. */
export const USAGE_LISTS = ['usage.list', 'media.usage.list'] as const;
export type UsageList = (typeof USAGE_LISTS)[number];
/** Position document of a tenant with the time at which its rows were deleted. */
export const RESET_POSITION = 'reset';

export interface RecoveryDeps extends FoldDeps {
  bus: Pick<Bus, 'as'>;
  positions: Collection<PositionDocument>;
}

export interface RecoveryOptions {
  list: UsageList;
  since: number;
  prices: PriceList;
  retentionMs: number;
}

type Page = Result<UsageList>;
type Entry = Page['entries'][number];

/** Returns the instant from which usage is read after the log was lost. */
export function getRecoveryStart({ at, recoverFrom }: PositionDocument): number | undefined {
  return recoverFrom ?? (at === undefined ? undefined : Math.max(0, at - PUBLISH_DELAY_MS));
}

/**
 * Stores usage of one service whose events were lost with the log: those of a single process that died before it had read them. The row of
 * a turn or call has the id of its event, so that none is counted twice. Returns the number of recovered rows.
 */
export async function recoverUsage(deps: RecoveryDeps, { list, since, prices, retentionMs }: RecoveryOptions): Promise<number> {
  const bus = deps.bus.as(servicePrincipal('observability', DEFAULT_TENANT));
  const hours = new Map<string, { tenant: string; hourId: string }>();
  const resets = new Map<string, Promise<number>>();
  const readReset = (tenant: string): Promise<number> => {
    const known = resets.get(tenant) ?? readResetTime(deps.positions, tenant);
    resets.set(tenant, known);
    return known;
  };
  let inserted = 0;
  let cursor: string | undefined;
  do {
    const page: Page = await bus.call(list, { since, ...(cursor === undefined ? {} : { cursor }) });
    const rows: TenantRecord[] = [];
    for (const entry of page.entries)
      if (entry.at > (await readReset(entry.tenant))) rows.push(...readEntry(entry, { prices, retentionMs }));
    for (let from = 0; from < rows.length; from += BATCH_SIZE) {
      for (const stored of await storeRecords(deps.records, rows.slice(from, from + BATCH_SIZE))) {
        if (stored.inserted) inserted += 1;
        // The other rows came from the log. An earlier recovery may have ended between the rows and their sums.
        if (stored.record.log !== RECOVERED) continue;
        const key = { tenant: stored.tenant, hourId: toHourId(stored.record.at) };
        hours.set(JSON.stringify(key), key);
      }
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
  for (const key of hours.values()) await sumRecovered(deps, key);
  return inserted;
}

async function readResetTime(positions: Collection<PositionDocument>, tenant: string): Promise<number> {
  return (await positions.for({ tenant }).get(RESET_POSITION))?.at ?? 0;
}

/** Returns the rows of an entry. Their sums are computed from rows, not from the log. */
function readEntry(
  { tenant, name, payload, at }: Entry,
  { prices, retentionMs }: Pick<RecoveryOptions, 'prices' | 'retentionMs'>,
): TenantRecord[] {
  const place = { log: RECOVERED, seq: toRecoveredSeq(toHourId(at)), at, expiresAt: at + retentionMs };
  return (readRecords(name, payload, place, prices) ?? []).map((record) => ({ tenant, record }));
}
