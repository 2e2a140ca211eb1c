import type { Document } from './collection.ts';
import { isScalar } from './cursor.ts';
import { misuseError } from './store-misuse.ts';
import { requireField, requireValue, toJsonValue, toStored, type CollectionShape } from './collection-shape.ts';
import type { Change } from './store.ts';

type Entries = readonly (readonly [field: string, value: unknown])[];

/** A change with encoded values. */
export interface CompiledChange {
  /** Undefined removes the field. */
  sets: Entries;
  unset: readonly string[];
  increments: readonly (readonly [field: string, by: number])[];
  pushes: Entries;
  pulls: Entries;
  /** Applies the change to a stored document in place. */
  apply: (document: Document) => void;
}

/** Validates and encodes a change. Loops over the fields without intermediate arrays, because most changes have few fields. */
export function compileChange(shape: CollectionShape, change: Change<Document>): CompiledChange {
  const { name } = shape.spec;
  const names: string[] = [];
  const sets: [field: string, value: unknown][] = [];
  const increments: [field: string, by: number][] = [];
  const entries: [field: string, value: unknown][] = [];
  const pulls: [field: string, value: unknown][] = [];
  const { set, inc, push, pull, unset = [] } = change;
  for (const field in set) {
    requireChangeable(shape, field, names);
    requireValue(shape, field, set[field]);
    sets.push([field, toStored(shape, field, set[field])]);
  }
  for (const field in inc) {
    requireChangeable(shape, field, names);
    increments.push([field, requireNumber(shape, field, inc[field])]);
  }
  for (const field in push) {
    requireChangeable(shape, field, names);
    entries.push([field, encodeEntry(shape, field, push[field])]);
  }
  for (const field in pull) {
    requireChangeable(shape, field, names);
    const value = toJsonValue(pull[field]);
    if (!isScalar(value) || shape.json.has(field)) throw misuseError(name, `cannot pull that from ${field}`);
    pulls.push([field, value]);
  }
  for (const field of unset) requireChangeable(shape, field, names);

  const apply = (document: Document): void => {
    for (const [field, value] of sets) {
      if (value === undefined) delete document[field];
      else document[field] = value;
    }
    for (const field of unset) delete document[field];
    for (const [field, by] of increments) document[field] = requireNumber(shape, field, document[field] ?? 0) + by;
    for (const [field, value] of entries) document[field] = [...readList(shape, document, field), value];
    for (const [field, value] of pulls) {
      const list = readList(shape, document, field);
      if (list.includes(value)) document[field] = list.filter((entry) => entry !== value);
    }
  };
  return { sets, unset, increments, pushes: entries, pulls, apply };
}

/** Encodes a single array entry. */
function encodeEntry(shape: CollectionShape, field: string, value: unknown): unknown {
  if (value === undefined || shape.json.get(field) === 'field') throw misuseError(shape.spec.name, `cannot push to ${field}`);
  if (!shape.json.has(field)) return toStored(shape, field, value);
  return (toStored(shape, field, [value]) as unknown[])[0];
}

function readList(shape: CollectionShape, document: Document, field: string): unknown[] {
  const list = document[field] ?? [];
  if (!Array.isArray(list)) throw misuseError(shape.spec.name, `${field} is not a list`);
  return list;
}

function requireNumber(shape: CollectionShape, field: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw misuseError(shape.spec.name, `cannot increase ${field}`);
  return value;
}

/** Records the field as changed. Throws if it may not change or is changed twice. */
function requireChangeable(shape: CollectionShape, field: string, names: string[]): void {
  requireField(shape, field);
  if (field === shape.spec.key) throw misuseError(shape.spec.name, `the key ${field} cannot change`);
  if (names.includes(field)) throw misuseError(shape.spec.name, `${field} is changed twice`);
  names.push(field);
}
