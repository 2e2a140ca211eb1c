import { readEvent, type Bus, type Log, type LogEntry } from '@switchyard/bus';
import { DEFAULT_TENANT, EVENTS_LOG, ServiceError, subjects, type Sections } from '@switchyard/contracts';
import { atIntervals, type Clock } from '@switchyard/service-kit';
import type { Collection, Documents } from '@switchyard/store';
import { counter, observe, type Logger } from '@switchyard/telemetry';
import type { DiagnosticDocument, HourDocument, PositionDocument, RecordDocument } from '../documents/collections.ts';
import { foldHours, foldRest, type TenantRecord } from './fold-hours.ts';
import { getRecoveryStart, recoverUsage, USAGE_LISTS } from './recover-usage.ts';
import { createPriceReader, type PriceList } from './price-list.ts';
import { keepUnreadable, readDiagnostic } from './read-diagnostic.ts';
import { readRecords, type LogPlace } from './read-record.ts';

/** Events per read of the log. */
const PAGE_SIZE = 500;
/** Rows that are stored at a time. A larger batch would block the event loop for more than 20 ms on SQLite. */
const BATCH_SIZE = 100;
/** Rows that are added to their hours at a time. */
const FOLD_SIZE = 500;
/** Events of a busy process are read together: each read commits several transactions. */
const READ_INTERVAL_MS = 100;
const POSITION = 'events';
const DAY_MS = 86_400_000;

export interface IngestDeps {
  bus: Bus;
  records: Collection<RecordDocument>;
  hours: Collection<HourDocument>;
  diagnostics: Collection<DiagnosticDocument>;
  positions: Collection<PositionDocument>;
  settings: () => Sections['observability'];
  log: Logger;
  clock: Clock;
  /** Wall-clock time of the store. */
  now: () => number;
  intervalMs: number;
}

export interface Ingest extends AsyncDisposable {
  /** Reads the log to its end. */
  run(): Promise<void>;
}

type Position = Pick<PositionDocument, 'log' | 'seq' | 'recoverFrom' | 'recovered'>;

/**
 * Copies usage and diagnostic events from the event log into the database. It is the only writer of records and hours, and every replica
 * runs one: a record has a unique key and an hour refuses sequence numbers that it contains, so that events may be read any number of times.
 */
export async function startIngest(deps: IngestDeps): Promise<Ingest> {
  const { bus, positions, log: logger, clock, intervalMs } = deps;
  const events = await bus.log(EVENTS_LOG);
  const stored = positions.for({ tenant: DEFAULT_TENANT });
  const readPrices = createPriceReader(bus, clock);
  const lag = { events: 0 };
  const stopLag = observe('switchyard.observability.lag', {}, () => lag.events);
  let running: Promise<void> | undefined;
  let recovering: Promise<void> | undefined;
  let nextRecovery = 0;

  async function readLog(): Promise<void> {
    if (!deps.settings().persistence.enabled) return;
    for (;;) {
      const current = await events.position();
      const position = await openPosition(deps, stored, current.name);
      startRecovery(position);
      lag.events = Math.max(0, current.seq - position.seq);
      if (lag.events === 0) return;
      const lost = current.firstSeq - position.seq - 1;
      if (lost > 0 && position.seq > 0) reportLost(logger, lost);
      const page = await readPage(events, position);
      if (page.length === 0) return;
      await ingestPage(deps, await readPrices(), { log: current.name, page });
      const { seq, at } = page.at(-1) ?? { seq: position.seq, at: deps.now() };
      await advance(stored, position, { log: current.name, seq, at });
    }
  }

  /** Runs beside the reading of the log, because the owners of the usage may not be there yet. Repeated at each interval until all answer. */
  function startRecovery({ log, recoverFrom: since, recovered = [] }: Position): void {
    if (since === undefined || recovering !== undefined || clock.now() < nextRecovery) return;
    nextRecovery = clock.now() + intervalMs;
    recovering = recover({ log, since, recovered }).finally(() => (recovering = undefined));
  }

  async function recover({ log, since, recovered }: { log: string; since: number; recovered: readonly string[] }): Promise<void> {
    const done = [...recovered];
    for (const list of USAGE_LISTS.filter((name) => !recovered.includes(name))) {
      try {
        const rows = await recoverUsage(deps, { list, since, prices: await readPrices(), retentionMs: getRetentionMs(deps) });
        if (rows > 0) count('recovered', rows);
        if (rows > 0) logger.info({ rows, list }, 'recovered usage whose events were lost with the event log');
        done.push(list);
        const isComplete = done.length === USAGE_LISTS.length;
        const change = isComplete ? { unset: ['recoverFrom' as const, 'recovered' as const] } : { set: { recovered: done } };
        await stored.update({ name: POSITION, log, recoverFrom: since }, change);
      } catch (err) {
        logger.debug({ err, list }, 'usage cannot be recovered yet; retrying');
      }
    }
  }

  const run = (): Promise<void> => (running ??= readLog().finally(() => (running = undefined)));
  const failed = (err: unknown): void =>
    logger.warn({ err, errorKind: 'dependency', hint: 'the event log keeps the events for a day' }, 'failed to ingest events; retrying');
  const polling = atIntervals({ clock, ms: intervalMs, failed }, run);
  // The log of a single process ends with it, so that a stored event is read at once. The interval covers missed messages.
  let requested = false;
  let lastReadAt = -Infinity;
  const arrivals = bus.subscribe(subjects.events, () => {
    if (requested) return;
    requested = true;
    const read = (): void => {
      requested = false;
      lastReadAt = clock.now();
      run().catch(() => undefined);
    };
    const waitMs = lastReadAt + READ_INTERVAL_MS - clock.now();
    if (waitMs <= 0) clock.soon(read);
    else clock.after(waitMs, read);
  });
  return {
    run,
    async [Symbol.asyncDispose]() {
      stopLag();
      arrivals.unsubscribe();
      await polling[Symbol.asyncDispose]();
      await running?.catch(() => undefined);
      // Events that were published until now are in no log of the next process.
      await readLog().catch(() => undefined);
      await recovering;
    },
  };
}

async function readPage(events: Log, { seq }: Position): Promise<LogEntry[]> {
  return events.page(subjects.events, seq + 1, PAGE_SIZE);
}

/**
 * Returns the position in this log. After the log was recreated, the rows of the old one are folded, the new one is read from its start, and
 * usage is recovered that the old one contained and this service had not read.
 */
async function openPosition(deps: IngestDeps, stored: Documents<PositionDocument>, log: string): Promise<Position> {
  const existing = await stored.get(POSITION);
  if (existing?.log === log) return existing;
  if (existing) {
    await foldRest(deps, existing);
    const recoverFrom = getRecoveryStart(existing);
    await stored.update(
      { name: POSITION, log: existing.log },
      { set: { log, seq: 0, ...(recoverFrom === undefined ? {} : { recoverFrom }) }, unset: ['recovered'] },
    );
  } else await stored.insert({ name: POSITION, log, seq: 0, at: deps.now() }).catch(ignoreExisting);
  return (await stored.get(POSITION)) ?? { log, seq: 0 };
}

function advance(stored: Documents<PositionDocument>, from: Position, { seq, at }: Position & { at: number }): Promise<unknown> {
  return stored.update({ name: POSITION, log: from.log, seq: { lt: seq } }, { set: { seq, at } });
}

function getRetentionMs({ settings }: IngestDeps): number {
  return settings().persistence.retentionDays * DAY_MS;
}

/** Stores a page of the log: first the rows, then the hours, so that an interrupted page is folded again from its rows. */
async function ingestPage(deps: IngestDeps, prices: PriceList, { log, page }: { log: string; page: readonly LogEntry[] }): Promise<void> {
  const retentionMs = getRetentionMs(deps);
  let records: TenantRecord[] = [];
  let writes: Promise<TenantRecord | undefined>[] = [];
  for (const entry of page) {
    const place = { log, seq: entry.seq, at: entry.at, expiresAt: entry.at + retentionMs };
    writes.push(...ingestEntry(deps, prices, { entry, place }));
    if (writes.length >= BATCH_SIZE) await finishWrites();
    if (records.length >= FOLD_SIZE) await fold();
  }
  await finishWrites();
  await fold();

  async function finishWrites(): Promise<void> {
    for (const record of await Promise.all(writes)) if (record !== undefined) records.push(record);
    writes = [];
  }

  async function fold(): Promise<void> {
    await foldHours(deps, records);
    records = [];
  }
}

/** Stores what an entry contains. The writes resolve to the records that its hour must contain. */
function ingestEntry(
  { records, diagnostics }: IngestDeps,
  prices: PriceList,
  { entry, place }: { entry: LogEntry; place: LogPlace },
): Promise<TenantRecord | undefined>[] {
  const event = readEvent(entry);
  if (event === undefined) return ignore();
  const { name, tenant } = event;
  const payload = parseJson(event.payload);
  const rows = readRecords(name, payload, place, prices);
  if (rows) {
    count('record');
    return rows.map((record) => storeRecord(records, { tenant, record }));
  }
  const diagnostic = rows === null ? keepUnreadable(name, payload, place) : readDiagnostic(name, payload, place);
  if (diagnostic === undefined) return ignore();
  count(rows === null ? 'unreadable' : 'diagnostic');
  const write = diagnostics.for({ tenant }).insert(diagnostic).catch(ignoreExisting);
  return [write.then(() => undefined)];
}

function ignore(): [] {
  count('ignored');
  return [];
}

/** Stores a row. Resolves to undefined if the event was stored before from another place of the log. */
async function storeRecord(records: Collection<RecordDocument>, { tenant, record }: TenantRecord): Promise<TenantRecord | undefined> {
  const documents = records.for({ tenant });
  try {
    await documents.insert(record);
    return { tenant, record };
  } catch (error) {
    ignoreExisting(error);
    const existing = await documents.get(record.recordId);
    return existing?.log === record.log && existing.seq === record.seq ? { tenant, record: existing } : undefined;
  }
}

type Outcome = 'record' | 'diagnostic' | 'unreadable' | 'ignored' | 'lost' | 'recovered';

function count(outcome: Outcome, events = 1): void {
  counter('switchyard.observability.events', { outcome }).add(events);
}

function reportLost(logger: Logger, lost: number): void {
  count('lost', lost);
  const hint = 'observability was down for longer than the event log keeps events; the sums lack them';
  logger.error({ lost, errorKind: 'resource', hint }, 'events were removed from the log before they were ingested');
}

function parseJson(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data).toString());
  } catch {
    return null;
  }
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
}
