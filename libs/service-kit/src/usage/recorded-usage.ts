import { MAX } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { MAX_PAYLOADS, type UsageDocument } from './usage-document.ts';
import type { UsageEvent } from './usage-recorder.ts';

const PAGE_SIZE = Math.floor(MAX.few / MAX_PAYLOADS);

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
  const entries = items.flatMap(({ tenant, at, payload, payloads = payload ? [payload] : [] }) =>
    at === undefined ? [] : payloads.map((one) => ({ tenant, name: event, payload: one, at })),
  );
  return { entries, ...(cursor === undefined ? {} : { cursor }) };
}
