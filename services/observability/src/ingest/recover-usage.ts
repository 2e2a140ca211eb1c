import type { Bus } from '@switchyard/bus';
import { DEFAULT_TENANT, ServiceError, servicePrincipal, type Result } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { toHourId } from '../billing/hour.ts';
import type { RecordDocument, PositionDocument } from '../documents/collections.ts';
import { rebuildHour, RECOVERED, type FoldDeps } from './fold-hours.ts';
import type { PriceList } from './price-list.ts';
import { readRecords } from './read-record.ts';

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
 * a turn or call has the id of its event, so that none is counted twice; hours are computed from their rows. Returns the number of
 * recovered rows.
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
  let rows = 0;
  let cursor: string | undefined;
  do {
    const page: Page = await bus.call(list, { since, ...(cursor === undefined ? {} : { cursor }) });
    for (const entry of page.entries) {
      const { tenant, at } = entry;
      if (at <= (await readReset(tenant))) continue;
      const stored = await storeEntry(deps, entry, { prices, retentionMs });
      rows += stored.filter((one) => one === 'inserted').length;
      if (stored.every((one) => one === undefined)) continue;
      const key = { tenant, hourId: toHourId(at) };
      hours.set(JSON.stringify(key), key);
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
  for (const key of hours.values()) await rebuildHour(deps, key);
  return rows;
}

async function readResetTime(positions: Collection<PositionDocument>, tenant: string): Promise<number> {
  return (await positions.for({ tenant }).get(RESET_POSITION))?.at ?? 0;
}

type StoredRow = 'inserted' | 'existing' | undefined;

function storeEntry(
  deps: RecoveryDeps,
  { tenant, name, payload, at }: Entry,
  { prices, retentionMs }: Pick<RecoveryOptions, 'prices' | 'retentionMs'>,
): Promise<StoredRow[]> {
  const records = readRecords(name, payload, { log: RECOVERED, seq: 0, at, expiresAt: at + retentionMs }, prices) ?? [];
  return Promise.all(records.map((record) => storeRow(deps, tenant, record)));
}

/** Resolves to undefined if the row came from the log and its hour contains it. */
async function storeRow({ records }: RecoveryDeps, tenant: string, record: RecordDocument): Promise<StoredRow> {
  const documents = records.for({ tenant });
  try {
    await documents.insert(record);
    return 'inserted';
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
    // An earlier recovery may have ended before it changed the hour.
    return (await documents.get(record.recordId))?.log === RECOVERED ? 'existing' : undefined;
  }
}
