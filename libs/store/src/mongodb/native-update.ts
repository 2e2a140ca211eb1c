import { Double, type UpdateFilter } from 'mongodb';
import type { CompiledChange } from '../port/compile-change.ts';
import { encodeUniqueValues, type StoredDocument, type StoredCollection } from './stored-document.ts';

/** A change as MongoDB update operators. */
export interface NativeUpdate {
  set: Record<string, unknown>;
  unset: Record<string, ''>;
  inc: Record<string, unknown>;
  push: Record<string, unknown>;
  pull: Record<string, unknown>;
  /** Maximum growth of the document in bytes. */
  growth: number;
}

/** JSON overhead of a field, and maximum length of a number. */
const PUNCTUATION_BYTES = 4;
const NUMBER_BYTES = 25;

/** Returns undefined if a unique set changes in part, because its encoded value needs the other fields of the document. */
export function compileNativeUpdate(collection: StoredCollection, tenant: string | null, change: CompiledChange): NativeUpdate | undefined {
  const { sets, unset, increments, pushes, pulls } = change;
  const native: NativeUpdate = { set: {}, unset: {}, inc: {}, push: {}, pull: {}, growth: 0 };
  for (const [field, value] of sets) {
    if (value === undefined) native.unset[`doc.${field}`] = '';
    else native.set[`doc.${field}`] = value;
    native.growth += value === undefined ? 0 : field.length + PUNCTUATION_BYTES + computeJsonBytes(value);
  }
  for (const field of unset) native.unset[`doc.${field}`] = '';
  for (const [field, by] of increments) {
    // Double matches JavaScript numbers of any size.
    native.inc[`doc.${field}`] = new Double(by);
    native.growth += field.length + PUNCTUATION_BYTES + NUMBER_BYTES;
  }
  for (const [field, value] of pushes) {
    native.push[`doc.${field}`] = value;
    native.growth += field.length + PUNCTUATION_BYTES + 2 + computeJsonBytes(value);
  }
  for (const [field, value] of pulls) native.pull[`doc.${field}`] = value;
  return updateUnique(collection, { tenant, change, native }) ? native : undefined;
}

interface UniqueUpdate {
  tenant: string | null;
  change: CompiledChange;
  native: NativeUpdate;
}

/** Returns false if the change does not determine the new unique values. */
function updateUnique({ unique }: StoredCollection, { tenant, change, native }: UniqueUpdate): boolean {
  const after = new Map([...change.sets, ...change.unset.map((field) => [field, null] as const)]);
  const touched = new Set([...after.keys(), ...[change.increments, change.pushes, change.pulls].flat().map(([field]) => field)]);
  for (const [name, fields] of unique) {
    if (!fields.some((field) => touched.has(field))) continue;
    if (fields.some((field) => after.has(field) && (after.get(field) ?? null) === null)) native.unset[`unique.${name}`] = '';
    else if (tenant === null || !fields.every((field) => after.has(field))) return false;
    else
      native.set[`unique.${name}`] = encodeUniqueValues(
        tenant,
        fields.map((field) => after.get(field)),
      );
  }
  return true;
}

/** Omits empty operators, which the server rejects. */
export function buildUpdate({ set, unset, inc, push, pull }: Omit<NativeUpdate, 'growth'>): UpdateFilter<StoredDocument> {
  const operators = { $set: set, $unset: unset, $inc: inc, $push: push, $pull: pull };
  return Object.fromEntries(Object.entries(operators).filter(([, fields]) => Object.keys(fields).length > 0));
}

function computeJsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
