import { MAX } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { MAX_RECORDS, type UsageDocument } from './usage-document.ts';
import type { UsageEvent } from './usage-recorder.ts';

/** Documents of a page. They contain a thousand records at most. */
const PAGE_SIZE = MAX.many / MAX_RECORDS;

export interface ListRecordedUsageOptions<E extends UsageEvent> {
  /** The event that announced the usage. */
  event: E;
  /** Time of the oldest usage, in milliseconds since the epoch. */
  since: number;
  /** The cursor of the page before. */
  cursor?: string | undefined;
}

/** Recorded usage as the event that announced it. */
export interface RecordedUsage<E extends UsageEvent> {
  tenant: string;
  name: E;
  payload: Record<string, unknown>;
  at: number;
}

export interface RecordedUsagePage<E extends UsageEvent> {
  entries: RecordedUsage<E>[];
  /** Absent on the last page. */
  cursor?: string;
}

/** Returns a page of the recorded usage of all tenants, oldest first, for billing after the event log was lost. */
export async function listRecordedUsage<E extends UsageEvent>(
  documents: Collection<UsageDocument>,
  { event, since, cursor: previous }: ListRecordedUsageOptions<E>,
): Promise<RecordedUsagePage<E>> {
  const options = { limit: PAGE_SIZE, ...(previous === undefined ? {} : { cursor: previous }) };
  const { items, cursor } = await documents.system().find({ at: { gte: since } }, { sort: [['at', 'asc']], ...options });
  const entries = items.flatMap(({ tenant, at, payload, payloads = payload ? [payload] : [], records = payloads }) =>
    at === undefined || records.length === 0 ? [] : [{ tenant, name: event, payload: { records }, at }],
  );
  return { entries, ...(cursor === undefined ? {} : { cursor }) };
}
