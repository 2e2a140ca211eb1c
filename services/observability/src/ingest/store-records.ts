import { ServiceError } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { RecordDocument } from '../documents/collections.ts';
import type { TenantRecord } from './fold-hours.ts';

/** Rows that are stored at a time. A larger batch would block the event loop for more than 20 ms on SQLite. */
export const BATCH_SIZE = 100;

/** A record as it is stored now. */
export interface StoredRecord extends TenantRecord {
  /** False if the turn or call was stored before, also from another log. */
  inserted: boolean;
}

/**
 * Stores records that do not exist. The existing ones are read at once, because an insert that fails costs more than one that succeeds, and
 * a replay or the other replica has often stored all of them.
 */
export async function storeRecords(records: Collection<RecordDocument>, rows: readonly TenantRecord[]): Promise<StoredRecord[]> {
  const existing = await readExisting(records, rows);
  return Promise.all(rows.map(async (row) => existing.get(getRowKey(row)) ?? (await insertRecord(records, row))));
}

async function readExisting(records: Collection<RecordDocument>, rows: readonly TenantRecord[]): Promise<Map<string, StoredRecord>> {
  const found = new Map<string, StoredRecord>();
  const readTenant = async ([tenant, some]: [string, readonly TenantRecord[]]): Promise<void> => {
    const ids = some.map(({ record }) => record.recordId);
    const { items } = await records.for({ tenant }).find({ recordId: { in: ids } }, { limit: ids.length });
    for (const record of items) found.set(getRowKey({ tenant, record }), { tenant, record, inserted: false });
  };
  await Promise.all(
    Array.from(
      Map.groupBy(rows, ({ tenant }) => tenant),
      readTenant,
    ),
  );
  return found;
}

async function insertRecord(records: Collection<RecordDocument>, { tenant, record }: TenantRecord): Promise<StoredRecord> {
  const documents = records.for({ tenant });
  try {
    await documents.insert(record);
    return { tenant, record, inserted: true };
  } catch (error) {
    ignoreExisting(error);
    // Another replica was faster. A record that was deleted meanwhile counts as its own.
    return { tenant, record: (await documents.get(record.recordId)) ?? record, inserted: false };
  }
}

function getRowKey({ tenant, record }: TenantRecord): string {
  return JSON.stringify([tenant, record.recordId]);
}

export function ignoreExisting(error: unknown): void {
  if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
}
