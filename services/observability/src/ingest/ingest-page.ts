import { readEvent, type LogEntry } from '@switchyard/bus';
import type { Sections } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { counter } from '@switchyard/telemetry';
import type { DiagnosticDocument } from '../documents/collections.ts';
import { foldHours, type FoldDeps, type TenantRecord } from './fold-hours.ts';
import type { PriceList } from './price-list.ts';
import { keepUnreadable, readDiagnostic } from './read-diagnostic.ts';
import { readRecords, type LogPlace } from './read-record.ts';
import { BATCH_SIZE, ignoreExisting, storeRecords } from './store-records.ts';

/** Rows that are added to their hours at a time. */
const FOLD_SIZE = 500;
const DAY_MS = 86_400_000;

export interface PageDeps extends FoldDeps {
  diagnostics: Collection<DiagnosticDocument>;
  settings: () => Sections['observability'];
}

export function getRetentionMs({ persistence }: Sections['observability']): number {
  return persistence.retentionDays * DAY_MS;
}

/** Stores a page of the log: first the rows, then the hours, so that an interrupted page is folded again from its rows. */
export async function ingestPage(
  deps: PageDeps,
  prices: PriceList,
  { log, page }: { log: string; page: readonly LogEntry[] },
): Promise<void> {
  const retentionMs = getRetentionMs(deps.settings());
  let batch = emptyBatch();
  let records: TenantRecord[] = [];
  for (const entry of page) {
    addEntry(batch, prices, { entry, place: { log, seq: entry.seq, at: entry.at, expiresAt: entry.at + retentionMs } });
    if (batch.records.length + batch.diagnostics.length >= BATCH_SIZE) await store();
    if (records.length >= FOLD_SIZE) await fold();
  }
  await store();
  await fold();

  async function store(): Promise<void> {
    records.push(...(await storeBatch(deps, batch)));
    batch = emptyBatch();
  }

  async function fold(): Promise<void> {
    await foldHours(deps, records);
    records = [];
  }
}

/** The rows of some events. */
interface Batch {
  records: TenantRecord[];
  diagnostics: { tenant: string; diagnostic: DiagnosticDocument }[];
}

function emptyBatch(): Batch {
  return { records: [], diagnostics: [] };
}

function addEntry(batch: Batch, prices: PriceList, { entry, place }: { entry: LogEntry; place: LogPlace }): void {
  const event = readEvent(entry);
  if (event === undefined) return count('ignored');
  const { name, tenant } = event;
  const payload = parseJson(event.payload);
  const rows = readRecords(name, payload, place, prices);
  if (rows) {
    batch.records.push(...rows.map((record) => ({ tenant, record })));
    return count('record');
  }
  const diagnostic = rows === null ? keepUnreadable(name, payload, place) : readDiagnostic(name, payload, place);
  if (diagnostic === undefined) return count('ignored');
  batch.diagnostics.push({ tenant, diagnostic });
  count(rows === null ? 'unreadable' : 'diagnostic');
}

/** Stores rows. Resolves to the records that their hours must contain: none that was stored before from another place of the log. */
async function storeBatch({ records, diagnostics }: PageDeps, batch: Batch): Promise<TenantRecord[]> {
  const [stored] = await Promise.all([
    storeRecords(records, batch.records),
    ...batch.diagnostics.map(({ tenant, diagnostic }) => diagnostics.for({ tenant }).insert(diagnostic).catch(ignoreExisting)),
  ]);
  return stored.filter(({ record: { log, seq } }, n) => batch.records[n]?.record.log === log && batch.records[n].record.seq === seq);
}

type Outcome = 'record' | 'diagnostic' | 'unreadable' | 'ignored' | 'lost' | 'recovered';

/** Counts events by outcome. */
export function count(outcome: Outcome, events = 1): void {
  counter('switchyard.observability.events', { outcome }).add(events);
}

function parseJson(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data).toString());
  } catch {
    return null;
  }
}
