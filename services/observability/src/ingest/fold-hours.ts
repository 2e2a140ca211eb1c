import { randomUUID } from 'node:crypto';
import { ServiceError } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { HourDocument, HourEntry, RecordDocument } from '../documents/collections.ts';
import { HOUR_MS, toHourId } from '../billing/hour.ts';
import { readAll } from '../billing/read-billing.ts';
import { groupSums } from '../billing/usage-sums.ts';

export interface FoldDeps {
  records: Collection<RecordDocument>;
  hours: Collection<HourDocument>;
}

export interface TenantRecord {
  tenant: string;
  record: RecordDocument;
}

/** Log name of rows that were read from their owner after the event log was lost. */
export const RECOVERED = 'recovered';

/** Rows per read while the rows of a lost log are folded. */
const ROWS_PER_READ = 500;

/** Positions in earlier logs that an hour keeps. A process that restarts has another log each time. */
const MAX_EARLIER_LOGS = 20;

type LogPosition = Pick<HourDocument, 'log' | 'seq'>;
type HourChange = Pick<HourDocument, 'log' | 'seq' | 'entries' | 'expiresAt' | 'earlier' | 'recovered' | 'origin'>;

/**
 * Adds records to the hours in which the log stored them. An hour refuses a record up to the sequence number of its log that it contains,
 * so that a replay changes no sum and several replicas may fold the same log. Records come from one log, in its order.
 */
export async function foldHours(deps: FoldDeps, records: readonly TenantRecord[]): Promise<void> {
  const groups = Map.groupBy(records, ({ tenant, record }) => JSON.stringify([tenant, toHourId(record.at)]));
  await Promise.all(Array.from(groups.values(), (group) => foldHour(deps, group)));
}

async function foldHour(deps: FoldDeps, group: readonly TenantRecord[]): Promise<void> {
  const [first] = group;
  if (first === undefined) return;
  const { log } = first.record;
  await changeHour(deps, { tenant: first.tenant, hourId: toHourId(first.record.at) }, async (existing) => {
    const positions = existing === undefined ? [] : listPositions(existing);
    const contained = positions.find((one) => one.log === log)?.seq ?? -1;
    const fresh = group.filter(({ record }) => record.seq > contained);
    const last = fresh.at(-1)?.record;
    if (last === undefined) return undefined;
    const earlier = positions.filter((one) => one.log !== log).slice(0, MAX_EARLIER_LOGS);
    const { seq, expiresAt } = last;
    return { log, seq, earlier, expiresAt, entries: addEntries(existing?.entries ?? [], fresh) };
  });
}

function listPositions({ log, seq, earlier = [] }: HourDocument): LogPosition[] {
  return [{ log, seq }, ...earlier];
}

/** Folds rows that were stored before the log was lost and whose hour may lack them. */
export async function foldRest({ records, hours }: FoldDeps, { log, seq }: LogPosition): Promise<void> {
  for (let from = seq; ;) {
    const page = await records.system().find({ log, seq: { gt: from } }, { sort: [['seq', 'asc']], limit: ROWS_PER_READ });
    const items = page.cursor === undefined ? page.items : dropLastEvent(page.items);
    const last = items.at(-1);
    if (last === undefined) return;
    await foldHours(
      { records, hours },
      items.map(({ tenant, ...record }) => ({ tenant, record })),
    );
    from = last.seq;
  }
}

/** The rows of an event are folded together, because an hour refuses an event that it contains. The next page has all of the last event. */
function dropLastEvent<R extends RecordDocument>(rows: readonly R[]): R[] {
  const last = rows.at(-1)?.seq;
  return rows.filter(({ seq }) => seq !== last);
}

interface HourKey {
  tenant: string;
  hourId: string;
}

/**
 * Computes the sums of the recovered rows of an hour. They are apart from those of the log, so that the rows of a busy hour need not be read
 * again and records that are folded meanwhile do not matter. Computed again after another replica has computed them.
 */
export async function sumRecovered(deps: FoldDeps, key: HourKey): Promise<void> {
  let read: { origin: string | undefined; recovered: HourEntry[]; expiresAt: number } | undefined;
  await changeHour(deps, key, async (existing) => {
    if (read === undefined || existing === undefined || read.origin !== existing.origin)
      read = { origin: existing?.origin, ...(await readRecovered(deps, key)) };
    const { log, seq, entries, expiresAt } = existing ?? { log: RECOVERED, seq: 0, entries: [], expiresAt: 0 };
    return { log, seq, entries, expiresAt: Math.max(expiresAt, read.expiresAt), recovered: read.recovered, origin: randomUUID() };
  });
}

/** Sequence number of the recovered rows of an hour, by which they are found. */
export function toRecoveredSeq(hourId: string): number {
  return Number(hourId);
}

async function readRecovered({ records }: FoldDeps, { tenant, hourId }: HourKey): Promise<{ recovered: HourEntry[]; expiresAt: number }> {
  let recovered: HourEntry[] = [];
  let expiresAt = 0;
  for await (const record of readAll(records.for({ tenant }), { log: RECOVERED, seq: toRecoveredSeq(hourId) }, 'seq')) {
    recovered = addEntries(recovered, [{ tenant, record }]);
    expiresAt = Math.max(expiresAt, record.expiresAt);
  }
  return { recovered, expiresAt };
}

/** Applies a change to an hour, again after another replica has changed it. */
async function changeHour(
  { hours }: FoldDeps,
  { tenant, hourId }: HourKey,
  change: (existing: HourDocument | undefined) => Promise<HourChange | undefined>,
): Promise<void> {
  const documents = hours.for({ tenant });
  for (;;) {
    const existing = (await documents.get(hourId)) ?? undefined;
    const sums = await change(existing);
    if (sums === undefined) return;
    if (existing) {
      const guard = { hourId, log: existing.log, seq: existing.seq, revision: existing.revision ?? null };
      if (await documents.update(guard, { set: { ...sums, revision: (existing.revision ?? 0) + 1 } })) return;
    } else if (await insertHour({ ...sums, hourId, at: Number(hourId) * HOUR_MS })) return;
  }

  async function insertHour(hour: HourDocument): Promise<boolean> {
    try {
      await documents.insert(hour);
      return true;
    } catch (error) {
      // Another replica has inserted it, and the next round adds what is missing.
      if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') return false;
      throw error;
    }
  }
}

const getEntryKey = ({ agentId, model }: HourEntry): string => JSON.stringify([agentId, model]);

function addEntries(existing: readonly HourEntry[], fresh: readonly TenantRecord[]): HourEntry[] {
  const added = fresh.flatMap(({ record }) => record.sums.map((sum) => ({ ...sum, agentId: record.agentId })));
  return [...groupSums([...existing, ...added], getEntryKey).values()];
}
