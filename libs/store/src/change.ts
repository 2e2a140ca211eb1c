import type { Document } from './collection.ts';
import { isScalar } from './cursor.ts';
import { misuse } from './misuse.ts';
import { requireField, requireValue, toJsonValue, toStored, type Shape } from './shape.ts';
import type { Change } from './store.ts';

type Entries = readonly (readonly [field: string, value: unknown])[];

/** A change as it is stored. */
export interface CompiledChange {
  /** Undefined for what goes. */
  sets: Entries;
  unset: readonly string[];
  increments: readonly (readonly [field: string, by: number])[];
  pushes: Entries;
  pulls: Entries;
  /** Alters one stored document in place. */
  apply: (document: Document) => void;
}

/** Reads a change once, before anything is queued. */
export function compileChange(shape: Shape, change: Change<Document>): CompiledChange {
  const { name } = shape.spec;
  const given = Object.entries(change.set ?? {});
  const increments = Object.entries(change.inc ?? {}).map(([field, by]) => [field, requireNumber(shape, field, by)] as const);
  const pushes = Object.entries(change.push ?? {});
  const pulls = Object.entries(change.pull ?? {}).map(([field, value]) => [field, toJsonValue(value)] as const);
  const unset = change.unset ?? [];
  requireChangeable(shape, [...given, ...increments, ...pushes, ...pulls].map(([field]) => field).concat(unset));
  for (const [field, value] of pulls) if (!isScalar(value) || shape.json.has(field)) throw misuse(name, `cannot pull that from ${field}`);
  for (const [field, value] of given) requireValue(shape, field, value);
  const sets = given.map(([field, value]) => [field, toStored(shape, field, value)] as const);
  const entries = pushes.map(([field, value]) => [field, entryOf(shape, field, value)] as const);

  const apply = (document: Document): void => {
    for (const [field, value] of sets) {
      if (value === undefined) delete document[field];
      else document[field] = value;
    }
    for (const field of unset) delete document[field];
    for (const [field, by] of increments) document[field] = requireNumber(shape, field, document[field] ?? 0) + by;
    for (const [field, value] of entries) document[field] = [...listAt(shape, document, field), value];
    for (const [field, value] of pulls) {
      const list = listAt(shape, document, field);
      if (list.includes(value)) document[field] = list.filter((entry) => entry !== value);
    }
  };
  return { sets, unset, increments, pushes: entries, pulls, apply };
}

/** Entries are stored one by one, whatever stands around them. */
function entryOf(shape: Shape, field: string, value: unknown): unknown {
  if (value === undefined || shape.json.get(field) === 'field') throw misuse(shape.spec.name, `cannot push to ${field}`);
  if (!shape.json.has(field)) return toStored(shape, field, value);
  return (toStored(shape, field, [value]) as unknown[])[0];
}

function listAt(shape: Shape, document: Document, field: string): unknown[] {
  const list = document[field] ?? [];
  if (!Array.isArray(list)) throw misuse(shape.spec.name, `${field} is not a list`);
  return list;
}

function requireNumber(shape: Shape, field: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw misuse(shape.spec.name, `cannot increase ${field}`);
  return value;
}

function requireChangeable(shape: Shape, names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    requireField(shape, name);
    if (name === shape.spec.key) throw misuse(shape.spec.name, `the key ${name} cannot change`);
    if (seen.has(name)) throw misuse(shape.spec.name, `${name} is changed twice`);
    seen.add(name);
  }
}
