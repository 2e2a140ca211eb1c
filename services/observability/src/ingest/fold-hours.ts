import { ServiceError } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { HourDocument, HourEntry, RecordDocument } from '../documents/collections.ts';
import { HOUR_MS, toHourId } from '../billing/hour.ts';
import { groupSums } from '../billing/usage-sums.ts';

export interface TenantRecord {
  tenant: string;
  record: RecordDocument;
}

/**
 * Adds records to the hours in which the log stored them. An hour refuses a record up to the sequence number that it contains, so that a
 * replay changes no sum and several replicas may fold the same log. Records come in the order of the log.
 */
export async function foldHours(hours: Collection<HourDocument>, records: readonly TenantRecord[]): Promise<void> {
  const groups = Map.groupBy(records, ({ tenant, record }) => JSON.stringify([tenant, toHourId(record.at)]));
  await Promise.all(Array.from(groups.values(), (group) => foldHour(hours, group)));
}

async function foldHour(hours: Collection<HourDocument>, group: readonly TenantRecord[]): Promise<void> {
  const [first] = group;
  if (first === undefined) return;
  const documents = hours.for({ tenant: first.tenant });
  const hourId = toHourId(first.record.at);
  for (;;) {
    const existing = await documents.get(hourId);
    const isSameLog = existing?.log === first.record.log;
    const fresh = group.filter(({ record }) => !isSameLog || record.seq > existing.seq);
    const last = fresh.at(-1);
    if (last === undefined) return;
    const { log, seq } = last.record;
    const entries = addEntries(existing?.entries ?? [], fresh);
    if (existing) {
      const guard = { hourId, log: existing.log, seq: existing.seq };
      if (await documents.update(guard, { set: { log, seq, entries } })) return;
    } else if (await insertHour({ hourId, at: Number(hourId) * HOUR_MS, expiresAt: last.record.expiresAt, log, seq, entries })) return;
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
  return [...groupSums([...existing, ...added], ({ agentId, model }) => JSON.stringify([agentId, model])).values()];
}
