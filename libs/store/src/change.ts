import type { Document } from './collection.ts';
import { misuse, requireField, requireValue, toJsonValue, type Shape } from './shape.ts';
import type { Change } from './store.ts';

/** Reads a change once, before anything is queued; what it returns alters one document in place. */
export function compileChange(shape: Shape, change: Change<Document>): (document: Document) => void {
  const sets = Object.entries(change.set ?? {}).map(([field, value]) => [field, toJsonValue(value)] as const);
  const increments = Object.entries(change.inc ?? {});
  const pushes = Object.entries(change.push ?? {}).map(([field, value]) => [field, toJsonValue(value)] as const);
  const unset = change.unset ?? [];
  requireChangeable(shape, [...sets, ...increments, ...pushes].map(([field]) => field).concat(unset));
  for (const [field, value] of sets) requireValue(shape, field, value);

  return (document) => {
    for (const [field, value] of sets) {
      if (value === undefined) delete document[field];
      else document[field] = value;
    }
    for (const field of unset) delete document[field];
    for (const [field, by] of increments) document[field] = sum(shape, field, [document[field] ?? 0, by]);
    for (const [field, value] of pushes) {
      const items = document[field] ?? [];
      if (!Array.isArray(items) || value === undefined) throw misuse(shape.spec.name, `cannot push to ${field}`);
      items.push(value);
      document[field] = items;
    }
  };
}

function sum(shape: Shape, field: string, [value, by]: readonly [unknown, unknown]): number {
  if (typeof value !== 'number' || typeof by !== 'number' || !Number.isFinite(by))
    throw misuse(shape.spec.name, `cannot increase ${field}`);
  return value + by;
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
