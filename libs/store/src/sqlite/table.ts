import type { DatabaseSync } from 'node:sqlite';
import type { Shape } from '../shape.ts';

/** A collection as a table: the document as JSON, beside what names it. */
export interface Table extends Shape {
  /** Quoted. */
  name: string;
  /** The fields of each unique index, by the index's name. */
  unique: ReadonlyMap<string, readonly string[]>;
}

/** Field names are letters, digits and _ only (`shapeOf`), so they need no more than the quotes. */
export function fieldSql(field: string): string {
  return `json_extract(doc, '$."${field}"')`;
}

export function typeSql(field: string): string {
  return `json_type(doc, '$."${field}"')`;
}

/** Creates what is missing and replaces the indexes whose declaration changed; documents are never touched. */
export function prepareTable(db: DatabaseSync, shape: Shape): Table {
  const name = `"c_${shape.spec.name}"`;
  const uniqueSets = (shape.spec.unique ?? []).map((fields) => [`${shape.spec.name}.unique.${fields.join('.')}`, fields] as const);
  const table = { ...shape, name, unique: new Map(uniqueSets) };
  db.exec('BEGIN IMMEDIATE');
  try {
    // SQLite reads JSON nested 1,000 deep and no deeper; a row it cannot read would fail every search that meets it.
    db.exec(`CREATE TABLE IF NOT EXISTS ${name} (id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, key TEXT NOT NULL,
      doc TEXT NOT NULL CHECK (json_valid(doc)), UNIQUE (tenant, key)) STRICT`);
    alignIndexes(db, table);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
  return table;
}

function alignIndexes(db: DatabaseSync, table: Table): void {
  const wanted = indexesOf(table);
  const present = db.prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL`);
  for (const { name, sql } of present.all(`c_${table.spec.name}`)) {
    if (wanted.get(String(name)) === sql) wanted.delete(String(name));
    else db.exec(`DROP INDEX "${String(name)}"`);
  }
  for (const sql of wanted.values()) db.exec(sql);
}

/** Each index by its name; a changed declaration shows as another text. */
function indexesOf(table: Table): Map<string, string> {
  const { spec, name, unique } = table;
  const indexes = new Map<string, string>();
  for (const { fields, across } of spec.indexes ?? []) {
    const index = `${spec.name}.${across === true ? 'across' : 'index'}.${fields.join('.')}`;
    const columns = fields.map((field) => (field === spec.key ? 'key' : fieldSql(field)));
    const led = across === true ? [...columns, 'tenant', 'key'] : ['tenant', ...columns, 'key'];
    indexes.set(index, `CREATE INDEX "${index}" ON ${name} (${[...new Set(led)].join(', ')})`);
  }
  for (const [index, fields] of unique) {
    const present = fields.map((field) => `${fieldSql(field)} IS NOT NULL`).join(' AND ');
    indexes.set(index, `CREATE UNIQUE INDEX "${index}" ON ${name} (tenant, ${fields.map(fieldSql).join(', ')}) WHERE ${present}`);
  }
  if (spec.expires) {
    const expiry = fieldSql(spec.expires.field);
    indexes.set(`${spec.name}.expires`, `CREATE INDEX "${spec.name}.expires" ON ${name} (${expiry}) WHERE ${expiry} IS NOT NULL`);
  }
  return indexes;
}
