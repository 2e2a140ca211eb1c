import { join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import type { AnyCollectionSpec, Document } from '../port/collection.ts';
import { misuseError } from '../port/store-misuse.ts';
import { observeStore } from '../outbox/store-metrics.ts';
import { createOutboxPublisher } from '../outbox/outbox-publisher.ts';
import { readCollectionSpec } from '../port/collection-shape.ts';
import type { Collection, Documents, Store, StoreOptions } from '../port/store.ts';
import { openDatabase } from './database.ts';
import { openLogSync } from './wal-sync.ts';
import { createDocuments, type Session } from './documents.ts';
import { readDatabaseIdentity } from './database-identity.ts';
import { createOutboxTables } from './outbox-tables.ts';
import { createSqliteOutbox } from './outbox-storage.ts';
import { createWriteQueue } from './write-queue.ts';
import { columnSql, prepareTable, type Table } from './table.ts';

const SERVICE_NAME = /^[a-z][a-z0-9-]{0,63}$/;
const SWEEP_MS = 60_000;
const SWEEP_BATCH = 1_000;
const CLOSE_GRACE_MS = 3_000;

/** Opens the documents of a service in one file, `<dir>/<service>.db` by default. The process must have locked the directory (`lockDirectory`). */
export function openSqliteStore(dir: string, { service, file = join(dir, `${service}.db`), log, strict = false }: StoreOptions): Store {
  if (!SERVICE_NAME.test(service)) throw new ServiceError('INTERNAL', 'a store is opened for a service by its name');
  const database = openDatabase(file);
  createOutboxTables(database.db);
  const logSync = openLogSync(database.log);
  const queue = createWriteQueue(database.db, logSync);
  const outbox = createSqliteOutbox(database, queue, Date.now);
  const publisher = createOutboxPublisher(outbox, log);
  const unobserve = observeStore(service, { queue, publisher });
  const session: Session = {
    database,
    queue,
    record: (...args) => outbox.record(...args),
    announce: (events) => publisher.offer(events),
    strict,
  };
  const expiring = new Map<string, Table>();

  const onSweepError = (error: unknown) =>
    log?.warn({ err: error, errorKind: 'resource', hint: 'retried in a minute' }, 'failed to remove expired documents');
  const sweep = () => {
    for (const table of expiring.values()) removeExpired(session, table).catch(onSweepError);
  };
  const sweeper = setInterval(sweep, SWEEP_MS).unref();

  async function open(specs: Record<string, AnyCollectionSpec>): Promise<Record<string, Collection<Document>>> {
    const tables = Object.entries(specs).map(([name, spec]) => [name, prepareTable(database.db, readCollectionSpec(spec))] as const);
    for (const [, table] of tables) if (table.spec.expires) expiring.set(table.spec.name, table);
    sweep();
    return Object.fromEntries(tables.map(([name, table]) => [name, createCollection(session, table)]));
  }

  let closed: Promise<void> | undefined;
  async function close(): Promise<void> {
    clearInterval(sweeper);
    // Waits for all queued writes, so that their events are published.
    await queue.write(() => undefined).catch(() => undefined);
    await publisher.close(CLOSE_GRACE_MS);
    queue.close();
    unobserve();
    database.db.close();
    logSync.close();
  }

  return {
    identity: readDatabaseIdentity(database),
    open: open as Store['open'],
    now: () => Date.now(),
    publishTo: async (publish) => publisher.publishTo(publish),
    close: () => (closed ??= close()),
  };
}

function createCollection(session: Session, table: Table): Collection<Document> {
  return {
    key: table.spec.key,
    for({ tenant }) {
      if (typeof tenant !== 'string' || tenant === '') throw misuseError(table.spec.name, 'a principal without a tenant has no documents');
      return createDocuments(session, table, tenant);
    },
    system: () => createDocuments(session, table, null) as Documents<Document & { tenant: string }>,
  };
}

async function removeExpired({ database, queue }: Session, table: Table): Promise<void> {
  const { name, spec } = table;
  if (!spec.expires) return;
  const due = `SELECT id FROM ${name} WHERE ${columnSql(table, spec.expires.field)} < ? LIMIT ${SWEEP_BATCH}`;
  const remove = database.prepare(`DELETE FROM ${name} WHERE id IN (${due})`);
  const before = Date.now() - spec.expires.afterMs;
  let removed = SWEEP_BATCH;
  while (removed === SWEEP_BATCH) removed = await queue.write(() => Number(remove.run(before).changes));
}
