import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { OutboxEvent, Publish, StoreLog } from '../store.ts';
import type { Database } from './database.ts';
import type { Queue } from './queue.ts';

/** Events of writes that are not published yet: stored by the same transaction, published in order, removed once held elsewhere. */
export interface Outbox {
  /** Only inside a write. */
  record: (tenant: string, events: readonly OutboxEvent[]) => void;
  /** There may be something to publish. */
  wake(): void;
  publishTo(publish: Publish): void;
  /** Publishes what is owed, no longer than this. */
  close(graceMs: number): Promise<void>;
}

interface Owed {
  seq: number;
  id: string;
  tenant: string;
  name: string;
  payload: string;
}

export const OUTBOX_TABLE = `CREATE TABLE IF NOT EXISTS outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT NOT NULL, payload TEXT NOT NULL,
  refused INTEGER NOT NULL DEFAULT 0) STRICT`;

const BATCH = 100;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

export function createOutbox(database: Database, queue: Queue, log: StoreLog | undefined): Outbox {
  const ledger = createLedger(database, queue);
  const closing = new AbortController();
  let publish: Publish | undefined;
  let draining: Promise<void> | undefined;
  let woken = false;
  let stopped = false;

  async function drain(to: Publish): Promise<void> {
    let failures = 0;
    for (;;) {
      woken = false;
      const events = await ledger.due();
      if (stopped || (events.length === 0 && !woken)) return;
      const { held, failure } = await publishInOrder(events, { to, ledger, log });
      if (stopped) return;
      if (held > 0) await ledger.remove(held);
      failures = failure === undefined ? 0 : failures + 1;
      if (failure === undefined) continue;
      if (closing.signal.aborted) return;
      log?.warn({ err: failure, failures, errorKind: 'dependency', hint: 'they are kept and tried again' }, 'events not published');
      await pause(failures, closing.signal);
    }
  }

  async function run(to: Publish): Promise<void> {
    try {
      await drain(to);
    } catch (error) {
      if (!stopped) log?.error({ err: error, errorKind: 'resource', hint: 'its events wait for the next write' }, 'outbox not readable');
    } finally {
      draining = undefined;
    }
  }

  function wake(): void {
    woken = true;
    if (publish && !draining && !stopped) draining = run(publish);
  }

  return {
    record: ledger.record,
    wake,
    publishTo(to) {
      publish = to;
      wake();
    },
    async close(graceMs) {
      wake();
      closing.abort();
      const grace = new AbortController();
      await Promise.race([draining, wait(graceMs, undefined, { signal: grace.signal }).catch(() => undefined)]);
      grace.abort();
      stopped = true;
    },
  };
}

interface Ledger extends Pick<Outbox, 'record'> {
  due(): Promise<Owed[]>;
  /** All that are not set aside, up to and with this one. */
  remove(last: number): Promise<unknown>;
  setAside(seq: number): Promise<unknown>;
}

function createLedger({ prepare }: Database, queue: Queue): Ledger {
  return {
    record: (tenant, events) => {
      const insert = prepare('INSERT INTO outbox (id, tenant, name, payload) VALUES (?, ?, ?, ?)');
      for (const { name, payload } of events) insert.run(mintId('evt'), tenant, name, JSON.stringify(payload ?? null));
    },
    due: () => queue.read(() => prepare('SELECT * FROM outbox WHERE refused = 0 ORDER BY seq LIMIT ?').all(BATCH).map(owed)),
    remove: (last) => queue.write(() => prepare('DELETE FROM outbox WHERE seq <= ? AND refused = 0').run(last)),
    setAside: (seq) => queue.write(() => prepare('UPDATE outbox SET refused = 1 WHERE seq = ?').run(seq)),
  };
}

interface Round {
  to: Publish;
  ledger: Ledger;
  log: StoreLog | undefined;
}

/** Stops at the first failure, so that no event overtakes another. Returns the last event that was published, and the failure. */
async function publishInOrder(events: readonly Owed[], { to, ledger, log }: Round): Promise<{ held: number; failure?: unknown }> {
  let held = 0;
  for (const { seq, id, tenant, name, payload } of events) {
    try {
      await to({ id, name, payload: JSON.parse(payload), tenant });
    } catch (error) {
      if (!isHopeless(error)) return { held, failure: error ?? new Error('no reason given') };
      log?.error({ err: error, event: name, id, errorKind: 'internal', hint: 'its payload does not fit its contract' }, 'event set aside');
      await ledger.setAside(seq);
    }
    held = seq;
  }
  return { held };
}

function owed(row: Record<string, unknown>): Owed {
  return { seq: Number(row.seq), id: String(row.id), tenant: String(row.tenant), name: String(row.name), payload: String(row.payload) };
}

/** Whether publishing it again would fail again: such an event would hold up all later ones for ever. */
function isHopeless(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'INVALID_ARGUMENT' || error.code === 'FAILED_PRECONDITION');
}

async function pause(failures: number, signal: AbortSignal): Promise<void> {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
  await wait(longest * (0.5 + Math.random() / 2), undefined, { ref: false, signal }).catch(() => undefined);
}
