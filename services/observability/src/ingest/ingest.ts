import type { Bus, Log, LogEntry } from '@switchyard/bus';
import { DEFAULT_TENANT, EVENTS_LOG, subjects } from '@switchyard/contracts';
import { atIntervals, type Clock } from '@switchyard/service-kit';
import type { Collection, Documents } from '@switchyard/store';
import { observe, type Logger } from '@switchyard/telemetry';
import type { PositionDocument } from '../documents/collections.ts';
import { foldRest } from './fold-hours.ts';
import { getRecoveryStart, recoverUsage, USAGE_LISTS } from './recover-usage.ts';
import { count, getRetentionMs, ingestPage, type PageDeps } from './ingest-page.ts';
import { createPriceReader } from './price-list.ts';
import { ignoreExisting } from './store-records.ts';

/** Events per read of the log. */
const PAGE_SIZE = 500;
/** Events of a busy process are read together: each read commits several transactions. */
const READ_INTERVAL_MS = 100;
const POSITION = 'events';

export interface IngestDeps extends PageDeps {
  bus: Bus;
  positions: Collection<PositionDocument>;
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

type Position = Pick<PositionDocument, 'log' | 'seq' | 'recoverFrom' | 'recovered' | 'previous'>;
/** The fields of a position that are set until a recovery has ended. */
const RECOVERY_FIELDS = ['recoverFrom', 'recovered', 'previous'] as const;

interface Recovery {
  log: string;
  since: number;
  recovered: readonly string[];
  previous: Position['previous'];
}

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
      const position = await openPosition(deps, stored, { events, log: current.name });
      if (position === undefined) continue;
      startRecovery(position);
      lag.events = Math.max(0, current.seq - position.seq);
      if (lag.events === 0) return;
      const lost = current.firstSeq - position.seq - 1;
      if (lost > 0 && position.seq > 0) reportLost(logger, lost);
      const page = await readPage(events, position);
      if (page.length === 0) return;
      // The page of a log that was recreated in between would be stored with positions of the old one.
      if ((await events.position()).name !== current.name) continue;
      await ingestPage(deps, await readPrices(), { log: current.name, page });
      const { seq, at } = page.at(-1) ?? { seq: position.seq, at: deps.now() };
      await advance(stored, position, { log: current.name, seq, at });
    }
  }

  /** Runs beside the reading of the log, because the owners of the usage may not be there yet. Repeated at each interval until all answer. */
  function startRecovery({ log, recoverFrom: since, recovered = [], previous }: Position): void {
    if (since === undefined || recovering !== undefined || clock.now() < nextRecovery) return;
    nextRecovery = clock.now() + intervalMs;
    recovering = recover({ log, since, recovered, previous }).finally(() => (recovering = undefined));
  }

  async function recover({ log, since, recovered, previous }: Recovery): Promise<void> {
    const done = [...recovered];
    for (const list of USAGE_LISTS.filter((name) => !recovered.includes(name))) {
      try {
        const rows = await recoverUsage(deps, { list, since, prices: await readPrices(), retentionMs: getRetentionMs(deps.settings()) });
        if (rows > 0) count('recovered', rows);
        if (rows > 0) logger.info({ rows, list }, 'recovered usage whose events were lost with the event log');
        done.push(list);
        // A replica that died may have stored rows of the lost log after another one had folded them.
        if (previous) await foldRest(deps, previous);
        const isComplete = done.length === USAGE_LISTS.length;
        const change = isComplete ? { unset: RECOVERY_FIELDS } : { set: { recovered: done } };
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
 * usage is recovered that the old one contained and this service had not read. Returns undefined if the log was recreated meanwhile.
 */
async function openPosition(
  deps: IngestDeps,
  stored: Documents<PositionDocument>,
  { events, log }: { events: Log; log: string },
): Promise<Position | undefined> {
  const existing = await stored.get(POSITION);
  if (existing?.log === log) return existing;
  if (existing) {
    // Another replica may have found a newer log.
    if ((await events.position()).name !== log) return undefined;
    await foldRest(deps, existing);
    const recoverFrom = getRecoveryStart(existing);
    const previous = { log: existing.log, seq: existing.seq };
    await stored.update(
      { name: POSITION, log: existing.log },
      { set: { log, seq: 0, ...(recoverFrom === undefined ? {} : { recoverFrom, previous }) }, unset: ['recovered'] },
    );
  } else await stored.insert({ name: POSITION, log, seq: 0, at: deps.now() }).catch(ignoreExisting);
  return (await stored.get(POSITION)) ?? { log, seq: 0 };
}

function advance(stored: Documents<PositionDocument>, from: Position, { seq, at }: Position & { at: number }): Promise<unknown> {
  return stored.update({ name: POSITION, log: from.log, seq: { lt: seq } }, { set: { seq, at } });
}

function reportLost(logger: Logger, lost: number): void {
  count('lost', lost);
  const hint = 'observability was down for longer than the event log keeps events; the sums lack them';
  logger.error({ lost, errorKind: 'resource', hint }, 'events were removed from the log before they were ingested');
}
