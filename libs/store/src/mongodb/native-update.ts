import { Double, type UpdateFilter } from 'mongodb';
import type { CompiledChange } from '../port/compile-change.ts';
import { encodeUniqueValues, type StoredDocument, type StoredCollection } from './stored-document.ts';

/** A change in MongoDB's own words, made by the server in one step. */
export interface NativeUpdate {
  set: Record<string, unknown>;
  unset: Record<string, ''>;
  inc: Record<string, unknown>;
  push: Record<string, unknown>;
  pull: Record<string, unknown>;
  /** How much larger the document gets, at most. */
  growth: number;
}

/** What stands around a name and a value, and how long a number is at most. */
const PUNCTUATION_BYTES = 4;
const NUMBER_BYTES = 25;

/** Undefined for what takes the whole document: a part of a unique set, whose text needs the other values too. */
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
    // Doubles stay numbers of JavaScript, however large they get.
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

/** False when what the unique sets become cannot be told from the change alone. */
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

/** As the server takes it; it refuses an operator without fields. */
export function buildUpdate({ set, unset, inc, push, pull }: Omit<NativeUpdate, 'growth'>): UpdateFilter<StoredDocument> {
  const operators = { $set: set, $unset: unset, $inc: inc, $push: push, $pull: pull };
  return Object.fromEntries(Object.entries(operators).filter(([, fields]) => Object.keys(fields).length > 0));
}

function computeJsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
