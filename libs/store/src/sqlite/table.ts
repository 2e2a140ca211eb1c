import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Document } from '../port/collection.ts';
import type { CollectionShape } from '../port/collection-shape.ts';

/**
 * The table of a collection. It has the document as JSON, its tenant and key, and a column for each indexed field, so that a change
 * updates only the indexes of the changed fields.
 */
export interface Table extends CollectionShape {
  /** Fields with a column. */
  columns: readonly string[];
  /** Quoted. */
  name: string;
  /** Fields of each unique index, by name of the index. */
  unique: ReadonlyMap<string, readonly string[]>;
  statements: { get: string; insert: string; replace: string };
}

/** Field names consist of letters, digits and _ (`readCollectionSpec`), so quotes are sufficient. */
export function fieldSql(field: string): string {
  return `json_extract(doc, '$."${field}"')`;
}

/** Returns the column of a field, or an expression if it has none. */
export function columnSql({ spec, columns }: Pick<Table, 'spec' | 'columns'>, field: string): string {
  if (field === spec.key) return 'key';
  return columns.includes(field) ? `"f_${field}"` : fieldSql(field);
}

/** Returns the value of a column, the same as `json_extract` would return. */
export function columnValue(document: Document, field: string): SQLInputValue {
  const value = document[field] ?? null;
  if (typeof value === 'string' || typeof value === 'number' || value === null) return value;
  return typeof value === 'boolean' ? Number(value) : JSON.stringify(value);
}

export function typeSql(field: string): string {
  return `json_type(doc, '$."${field}"')`;
}

/** Creates the table, its columns and indexes. Replaces indexes whose declaration changed. Documents stay unchanged. */
export function prepareTable(db: DatabaseSync, shape: CollectionShape): Table {
  const name = `"c_${shape.spec.name}"`;
  const uniqueSets = (shape.spec.unique ?? []).map((fields) => [`${shape.spec.name}.unique.${fields.join('.')}`, fields] as const);
  const columns = listColumns(shape);
  const table = { ...shape, name, columns, unique: new Map(uniqueSets), statements: buildStatements(shape, name, columns) };
  db.exec('BEGIN IMMEDIATE');
  try {
    // SQLite reads JSON up to a depth of 1,000. A deeper document would fail every query that reads it.
    db.exec(`CREATE TABLE IF NOT EXISTS ${name} (id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, key TEXT NOT NULL,
      doc TEXT NOT NULL CHECK (json_valid(doc)), UNIQUE (tenant, key)) STRICT`);
    addColumns(db, table);
    alignIndexes(db, table);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
  return table;
}

function listColumns({ spec }: CollectionShape): string[] {
  const indexed = [...(spec.indexes ?? []).map(({ fields }) => fields), ...(spec.unique ?? []), spec.expires ? [spec.expires.field] : []];
  return [...new Set(indexed.flat())].filter((field) => field !== spec.key);
}

function buildStatements({ spec }: CollectionShape, name: string, columns: readonly string[]): Table['statements'] {
  const changing = ['doc', ...columns.map((field) => columnSql({ spec, columns }, field))];
  const all = ['tenant', 'key', ...changing];
  const insert = `INSERT INTO ${name} (${all.join(', ')}) VALUES (${all.map(() => '?').join(', ')})`;
  const sets = changing.map((column) => `${column} = excluded.${column}`);
  return {
    get: `SELECT id, tenant, doc FROM ${name} WHERE tenant = ? AND key = ?`,
    insert,
    replace: `${insert} ON CONFLICT (tenant, key) DO UPDATE SET ${sets.join(', ')}`,
  };
}

function addColumns(db: DatabaseSync, { name, columns, spec }: Table): void {
  const present = new Set(
    db
      .prepare('SELECT name FROM pragma_table_info(?)')
      .all(`c_${spec.name}`)
      .map((row) => row.name),
  );
  for (const field of columns) if (!present.has(`f_${field}`)) db.exec(`ALTER TABLE ${name} ADD COLUMN "f_${field}" ANY`);
}

/** Fills the columns of documents that were written without them. */
function fillColumns(db: DatabaseSync, { name, columns }: Table): void {
  const sets = columns.map((field) => `"f_${field}" = ${fieldSql(field)}`);
  if (sets.length > 0) db.exec(`UPDATE ${name} SET ${sets.join(', ')}`);
}

function alignIndexes(db: DatabaseSync, table: Table): void {
  const missing = buildIndexes(table);
  const present = db.prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL`);
  for (const { name, sql } of present.all(`c_${table.spec.name}`)) {
    if (missing.get(String(name)) === sql) missing.delete(String(name));
    else db.exec(`DROP INDEX "${String(name)}"`);
  }
  if (missing.size > 0) fillColumns(db, table);
  for (const sql of missing.values()) db.exec(sql);
}

/** Maps index names to statements. A changed declaration has another statement. */
function buildIndexes(table: Table): Map<string, string> {
  const { spec, name, unique } = table;
  const indexes = new Map<string, string>();
  const getColumn = (field: string): string => columnSql(table, field);
  for (const { fields, across, sparse } of spec.indexes ?? []) {
    const index = `${spec.name}.${across === true ? 'across' : 'index'}.${fields.join('.')}`;
    const columns = fields.map(getColumn);
    const led = across === true ? [...columns, 'tenant', 'key'] : ['tenant', ...columns, 'key'];
    const only = sparse === true ? ` WHERE ${columns[0]} IS NOT NULL` : '';
    indexes.set(index, `CREATE INDEX "${index}" ON ${name} (${[...new Set(led)].join(', ')})${only}`);
  }
  for (const [index, fields] of unique) {
    const present = fields.map((field) => `${getColumn(field)} IS NOT NULL`).join(' AND ');
    indexes.set(index, `CREATE UNIQUE INDEX "${index}" ON ${name} (tenant, ${fields.map(getColumn).join(', ')}) WHERE ${present}`);
  }
  if (spec.expires) {
    const expiry = getColumn(spec.expires.field);
    indexes.set(`${spec.name}.expires`, `CREATE INDEX "${spec.name}.expires" ON ${name} (${expiry}) WHERE ${expiry} IS NOT NULL`);
  }
  return indexes;
}
