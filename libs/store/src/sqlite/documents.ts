import { ServiceError } from '@switchyard/contracts';
import { compileChange } from '../port/compile-change.ts';
import type { Document } from '../port/collection.ts';
import { decodeCursor, encodeCursor, isScalar, type Scalar } from '../port/cursor.ts';
import { requireCrossTenantIndex } from '../port/cross-tenant-query.ts';
import { misuseError } from '../port/store-misuse.ts';
import { completeDocument, fromStored, requireSize } from '../port/collection-shape.ts';
import type { RecordedEvents } from '../outbox/outbox-publisher.ts';
import type { Change, Documents, Filter, FindOptions, OutboxEvent, Page } from '../port/store.ts';
import type { Database } from './database.ts';
import type { SqliteOutbox } from './outbox-storage.ts';
import { createMatcher } from './document-matcher.ts';
import { buildCursorCondition, buildOrder, type Order, type Search } from './sort-order.ts';
import { joinSql, buildFilter, type Scope, type Sql } from './query.ts';
import type { WriteQueue } from './write-queue.ts';
import { columnSql, columnValue, type Table } from './table.ts';

/** State that all documents of a database share. */
export interface Session {
  database: Database;
  queue: WriteQueue;
  /** Stores events as part of a write. */
  record: SqliteOutbox['record'];
  /** Passes stored events to the publisher after the sync. */
  announce: (events: RecordedEvents) => void;
  /** Rejects cross-tenant queries without an index. */
  strict: boolean;
}

const DEFAULT_LIMIT = 100;
const UNIQUE_VIOLATION = 2067;
const CHECK_VIOLATION = 275;

/** Creates access to the documents of a tenant, or of all tenants (null scope). Validates before it queues. */
export function createDocuments(session: Session, table: Table, scope: Scope): Documents<Document> {
  const { queue, database } = session;

  return {
    async get(key) {
      if (scope === null) throw misuseError(table.spec.name, 'get requires a tenant');
      const select = database.prepare(table.statements.get);
      return queue.read(() => readDocument(table, scope, select.get(scope, key)), buildDocumentName(table, key));
    },

    async insert(document, options = {}) {
      const put = prepareDocument(session, table, { scope, document, emit: options.emit });
      const writeOptions = { name: buildDocumentName(table, document[table.spec.key]), deferSync: options.deferSync };
      return write(session, writeOptions, () => put(table.statements.insert));
    },

    async replace(document, options = {}) {
      const put = prepareDocument(session, table, { scope, document, emit: options.emit });
      const present = buildFilter(table, scope, [{ [table.spec.key]: document[table.spec.key] }, options.if ?? {}]);
      const guard = database.prepare(`SELECT 1 FROM ${table.name} WHERE ${present.text}`);
      const writeOptions = { name: buildDocumentName(table, document[table.spec.key]), deferSync: options.deferSync };
      return write(session, writeOptions, () => (options.if && !guard.get(...present.values) ? NO_RESULT : put(table.statements.replace)));
    },

    update: async (filter, change) => updateFirst(session, table, { scope, filter, change }),
    claim: async (filter, change, options = {}) => updateFirst(session, table, { scope, filter, change, sort: options.sort }),
    find: async (filter, options = {}) => findPage(session, table, { scope, filter, options }),

    async count(filter) {
      requireIndex(session, table, { scope, filter });
      const { text, values } = buildFilter(table, scope, [filter]);
      const select = database.prepare(`SELECT count(*) AS n FROM ${table.name} WHERE ${text}`);
      return queue.read(() => Number(select.get(...values)?.n));
    },

    async remove(filter) {
      requireIndex(session, table, { scope, filter });
      const { text, values } = buildFilter(table, scope, [filter]);
      const remove = database.prepare(`DELETE FROM ${table.name} WHERE ${text}`);
      return queue.write(() => Number(remove.run(...values).changes), { name: buildDocumentName(table, filter[table.spec.key]) });
    },
  };
}

interface WriteResult<D extends Document | null> {
  document: D;
  events: RecordedEvents | undefined;
}

const NO_RESULT = { document: null, events: undefined };

interface DocumentWrite {
  name: string | undefined;
  deferSync?: boolean | undefined;
}

async function write<D extends Document | null>(
  { queue, announce }: Session,
  options: DocumentWrite,
  work: () => WriteResult<D>,
): Promise<D> {
  const onSynced = ({ events }: WriteResult<D>): void => {
    if (events) announce(events);
  };
  return (await queue.write(work, { ...options, onSynced, isUnchanged: (result) => result === NO_RESULT })).document;
}

/** Returns a name for the document if the key is known. */
function buildDocumentName({ name }: Table, key: unknown): string | undefined {
  return typeof key === 'string' ? `${name} ${key}` : undefined;
}

interface PutRequest {
  scope: Scope;
  document: Document;
  emit: readonly OutboxEvent[] | undefined;
}

function prepareDocument(
  { database, record }: Session,
  table: Table,
  { scope, document, emit = [] }: PutRequest,
): (sql: string) => WriteResult<Document> {
  if (scope === null) throw misuseError(table.spec.name, 'insert and replace require a tenant');
  const stored = completeDocument(table, document);
  const text = JSON.stringify(stored);
  requireSize(table, text);
  const key = String(stored[table.spec.key]);
  const values = table.columns.map((field) => columnValue(stored, field));
  return (sql) => {
    translateErrors(table, () => database.prepare(sql).run(scope, key, text, ...values));
    const events = record({ collection: table.spec.name, tenant: scope, key }, emit);
    return { document: fromStored(table, { ...stored }), events };
  };
}

interface QueryRequest extends Partial<Search> {
  scope: Scope;
  filter: Filter<Document>;
  paged?: boolean;
}

function requireIndex({ strict }: Session, table: Table, { scope, filter, sort = [], paged = false }: QueryRequest): void {
  if (strict && scope === null) requireCrossTenantIndex(table, { filter, sort, paged });
}

interface UpdateRequest {
  scope: Scope;
  filter: Filter<Document>;
  change: Change<Document>;
  sort?: FindOptions<Document>['sort'];
}

/** Reads and writes in one queued step, so no other write comes in between. */
async function updateFirst(session: Session, table: Table, { scope, filter, change, sort }: UpdateRequest): Promise<Document | null> {
  const { database, record } = session;
  requireIndex(session, table, { scope, filter: { ...change.if, ...filter }, sort: sort ?? [] });
  const { apply } = compileChange(table, change);
  const find = prepareFindFirst(session, table, { scope, filter, change, sort });
  return write(session, { name: buildDocumentName(table, filter[table.spec.key]), deferSync: change.deferSync }, () => {
    const found = find();
    if (!found) return NO_RESULT;
    const { id, tenant, text: before, stored } = found;
    const columns = table.columns.map((field) => columnValue(stored, field));
    apply(stored);
    const text = JSON.stringify(stored);
    requireSize(table, text, before);
    // Unchanged columns are omitted, so that SQLite does not update their indexes.
    const changed = table.columns.filter((field, at) => columnValue(stored, field) !== columns[at]);
    const sets = ['doc', ...changed.map((field) => columnSql(table, field))].map((column) => `${column} = ?`).join(', ');
    const update = database.prepare(`UPDATE ${table.name} SET ${sets} WHERE id = ?`);
    translateErrors(table, () => update.run(text, ...changed.map((field) => columnValue(stored, field)), id));
    const events = record({ collection: table.spec.name, tenant, key: String(stored[table.spec.key]) }, change.emit ?? []);
    const document = fromStored(table, stored);
    return { document: scope === null ? { ...document, tenant } : document, events };
  });
}

interface Row {
  id: number;
  tenant: string;
  text: string;
  stored: Document;
}

/** Prepares the search for the document to change. With a known key it uses one statement and tests the filter in memory. */
function prepareFindFirst({ database }: Session, table: Table, { scope, filter, change, sort }: UpdateRequest): () => Row | undefined {
  const filters = [filter, change.if ?? {}];
  const key = filter[table.spec.key];
  if (scope !== null && typeof key === 'string') {
    const [select, matches] = [database.prepare(table.statements.get), createMatcher(table, filters)];
    return () => {
      const found = parseRow(select.get(scope, key));
      return found && matches(found.stored) ? found : undefined;
    };
  }
  const { text, values } = buildFilter(table, scope, filters);
  const order = sort ? ` ORDER BY ${buildOrder(table, scope, { filter, sort }).text}` : '';
  const select = database.prepare(`SELECT id, tenant, doc FROM ${table.name} WHERE ${text}${order} LIMIT 1`);
  return () => parseRow(select.get(...values));
}

function parseRow(row: Record<string, unknown> | undefined): Row | undefined {
  if (!row) return undefined;
  const text = String(row.doc);
  return { id: Number(row.id), tenant: String(row.tenant), text, stored: JSON.parse(text) as Document };
}

interface PageSearch {
  scope: Scope;
  filter: Filter<Document>;
  options: FindOptions<Document>;
}

async function findPage(session: Session, table: Table, { scope, filter, options }: PageSearch): Promise<Page<Document>> {
  const { database, queue } = session;
  const { limit = DEFAULT_LIMIT, sort = [], cursor } = options;
  if (!Number.isInteger(limit) || limit < 1) throw misuseError(table.spec.name, 'a limit must be a positive integer');
  requireIndex(session, table, { scope, filter, sort, paged: true });
  const order = buildOrder(table, scope, { filter, sort });
  const { text, values } = applyCursor(buildFilter(table, scope, [filter]), order, cursor);
  const select = database.prepare(`SELECT tenant, doc FROM ${table.name} WHERE ${text} ORDER BY ${order.text} LIMIT ?`);
  return queue.read(() => {
    const found = select.all(...values, limit + 1).map((row) => readDocument(table, scope, row));
    const items = found.slice(0, limit).filter((item) => item !== null);
    const last = items.at(-1);
    if (found.length <= limit || !last) return { items };
    return { items, cursor: encodeCursor(order.signature, getCursorPosition(table, order, last)) };
  });
}

function applyCursor(matching: Sql, order: Order, cursor: string | undefined): Sql {
  if (cursor === undefined) return matching;
  return joinSql([matching, buildCursorCondition(order, decodeCursor(cursor, order.signature, order.terms.length))], ' AND ');
}

function getCursorPosition(table: Table, order: Order, document: Document): Scalar[] {
  return order.terms.map(({ field }) => {
    const value = document[field] ?? null;
    if (!isScalar(value)) throw misuseError(table.spec.name, `cannot sort by ${field}`);
    return value;
  });
}

/** Adds the tenant to documents that are read across tenants. */
function readDocument(table: Table, scope: Scope, row: Record<string, unknown> | undefined): Document | null {
  if (!row) return null;
  const document = fromStored(table, JSON.parse(String(row.doc)) as Document);
  if (scope === null) document.tenant = row.tenant;
  return document;
}

/** Formats the columns of a unique index as in SQLite's error message. */
function formatViolation({ spec }: Table, fields: readonly string[]): string {
  const columns = ['tenant', ...fields.map((field) => (field === spec.key ? 'key' : `f_${field}`))];
  return `: ${columns.map((column) => `c_${spec.name}.${column}`).join(', ')}`;
}

/** Translates constraint violations. */
function translateErrors(table: Table, write: () => unknown): void {
  try {
    write();
  } catch (cause) {
    if (!(cause instanceof Error) || !('errcode' in cause)) throw cause;
    if (cause.errcode === CHECK_VIOLATION) throw misuseError(table.spec.name, 'the document is nested too deeply');
    if (cause.errcode !== UNIQUE_VIOLATION) throw cause;
    const unique = [...table.unique.values()].find((fields) => cause.message.endsWith(formatViolation(table, fields))) ?? [table.spec.key];
    const message = `${table.spec.name}: ${unique.join(' and ')} already exists`;
    throw new ServiceError('ALREADY_EXISTS', message, { details: { unique }, cause });
  }
}
