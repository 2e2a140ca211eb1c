import { randomUUID } from 'node:crypto';
import { ServiceError } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { HourDocument, HourEntry, RecordDocument } from '../documents/collections.ts';
import { HOUR_MS, toHourId } from '../billing/hour.ts';
import { readAll } from '../billing/read-billing.ts';
import { groupSums, subtractSum } from '../billing/usage-sums.ts';

export interface FoldDeps {
  records: Collection<RecordDocument>;
  hours: Collection<HourDocument>;
}

export interface TenantRecord {
  tenant: string;
  record: RecordDocument;
}

/** Log name of rows that were read from their owner after the event log was lost. They have no sequence number. */
export const RECOVERED = 'recovered';

/** Rows per read while the rows of a lost log are folded. */
const ROWS_PER_READ = 500;

/** Sums of an hour, and the position in the log up to which they are complete. */
type HourSums = Pick<HourDocument, 'log' | 'seq' | 'entries' | 'expiresAt' | 'origin'>;

/**
 * Adds records to the hours in which the log stored them. An hour refuses a record up to the sequence number that it contains, so that a
 * replay changes no sum and several replicas may fold the same log. Records come in the order of the log. After a change of the log the
 * hour is computed from its rows, because sequence numbers of two logs cannot be compared.
 */
export async function foldHours(deps: FoldDeps, records: readonly TenantRecord[]): Promise<void> {
  const groups = Map.groupBy(records, ({ tenant, record }) => JSON.stringify([tenant, toHourId(record.at)]));
  await Promise.all(Array.from(groups.values(), (group) => foldHour(deps, group)));
}

async function foldHour(deps: FoldDeps, group: readonly TenantRecord[]): Promise<void> {
  const [first] = group;
  if (first === undefined) return;
  const hourId = toHourId(first.record.at);
  await changeHour(deps, { tenant: first.tenant, hourId }, async (existing) => {
    const { log } = first.record;
    const fresh = existing?.log === log ? group.filter(({ record }) => record.seq > existing.seq) : group;
    const last = fresh.at(-1)?.record;
    if (last === undefined) return undefined;
    const { seq, expiresAt } = last;
    if (existing && existing.log !== log) return sumRows(deps, { tenant: first.tenant, hourId }, { log, seq });
    return { log, seq, expiresAt, entries: addEntries(existing?.entries ?? [], fresh) };
  });
}

/** Folds rows that were stored before the log was lost and whose hour may lack them. */
export async function foldRest({ records, hours }: FoldDeps, { log, seq }: Pick<HourSums, 'log' | 'seq'>): Promise<void> {
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
 * Computes the sums of an hour anew from its rows, for rows that came without a position in the log. The rows of a busy hour take longer to
 * read than the next record takes to arrive, so records that were added meanwhile are added to the result, and the rows are not read again.
 */
export async function rebuildHour(deps: FoldDeps, key: HourKey): Promise<void> {
  let read: { hour: HourDocument | undefined; sums: HourSums } | undefined;
  await changeHour(deps, key, async (existing) => {
    if (read?.hour && existing && read.hour.log === existing.log && read.hour.origin === existing.origin) {
      const { log, seq, expiresAt } = existing;
      const entries = addAdded(read.sums.entries, { before: read.hour.entries, after: existing.entries });
      return { ...read.sums, log, seq, expiresAt: Math.max(expiresAt, read.sums.expiresAt), entries };
    }
    const { log, seq } = existing ?? { log: RECOVERED, seq: 0 };
    read = { hour: existing, sums: await sumRows(deps, key, { log, seq }) };
    return read.sums;
  });
}

const getEntryKey = ({ agentId, model }: HourEntry): string => JSON.stringify([agentId, model]);

/** Adds to sums what another sum has gained. */
function addAdded(
  sums: readonly HourEntry[],
  { before, after }: { before: readonly HourEntry[]; after: readonly HourEntry[] },
): HourEntry[] {
  const known = new Map(before.map((entry) => [getEntryKey(entry), entry]));
  const gains = after.map((entry) => subtractSum(entry, known.get(getEntryKey(entry))));
  return [...groupSums([...sums, ...gains], getEntryKey).values()];
}

/** Sums the rows of an hour, without those of the log after its position: they are added when they are folded. */
async function sumRows({ records }: FoldDeps, { tenant, hourId }: HourKey, { log, seq }: Pick<HourSums, 'log' | 'seq'>): Promise<HourSums> {
  const at = Number(hourId) * HOUR_MS;
  let entries: HourEntry[] = [];
  let expiresAt = 0;
  for await (const record of readAll(records.for({ tenant }), { at: { gte: at, lt: at + HOUR_MS } }, 'at')) {
    if (record.log === log && record.seq > seq) continue;
    entries = addEntries(entries, [{ tenant, record }]);
    expiresAt = Math.max(expiresAt, record.expiresAt);
  }
  return { log, seq, expiresAt, entries, origin: randomUUID() };
}

/** Applies a change to an hour, again after another replica has changed it. */
async function changeHour(
  { hours }: FoldDeps,
  { tenant, hourId }: HourKey,
  change: (existing: HourDocument | undefined) => Promise<HourSums | undefined>,
): Promise<void> {
  const documents = hours.for({ tenant });
  for (;;) {
    const existing = (await documents.get(hourId)) ?? undefined;
    const sums = await change(existing);
    if (sums === undefined) return;
    if (existing) {
      const guard = { hourId, log: existing.log, seq: existing.seq, revision: existing.revision ?? null };
      if (await documents.update(guard, { set: { ...sums, revision: (existing.revision ?? 0) + 1 } })) return;
    } else if (sums.entries.length === 0 || (await insertHour({ hourId, at: Number(hourId) * HOUR_MS, origin: randomUUID(), ...sums })))
      return;
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

function addEntries(existing: readonly HourEntry[], fresh: readonly TenantRecord[]): HourEntry[] {
  const added = fresh.flatMap(({ record }) => record.sums.map((sum) => ({ ...sum, agentId: record.agentId })));
  return [...groupSums([...existing, ...added], getEntryKey).values()];
}
