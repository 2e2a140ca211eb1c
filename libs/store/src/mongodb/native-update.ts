import { Double, type UpdateFilter } from 'mongodb';
import type { CompiledChange } from '../port/compile-change.ts';
import { uniqueText, type Kept, type KeptCollection } from './stored-document.ts';

/** A change in MongoDB's own words, made by the server in one step. */
export interface NativeChange {
  set: Record<string, unknown>;
  unset: Record<string, ''>;
  inc: Record<string, unknown>;
  push: Record<string, unknown>;
  pull: Record<string, unknown>;
  /** How much larger the document gets, at most. */
  growth: number;
}

/** What stands around a name and a value, and how long a number is at most. */
const PUNCTUATION = 4;
const NUMBER_BYTES = 25;

/** Undefined for what takes the whole document: a part of a unique set, whose text needs the other values too. */
export function nativeChange(kept: KeptCollection, tenant: string | null, change: CompiledChange): NativeChange | undefined {
  const { sets, unset, increments, pushes, pulls } = change;
  const native: NativeChange = { set: {}, unset: {}, inc: {}, push: {}, pull: {}, growth: 0 };
  for (const [field, value] of sets) {
    if (value === undefined) native.unset[`doc.${field}`] = '';
    else native.set[`doc.${field}`] = value;
    native.growth += value === undefined ? 0 : field.length + PUNCTUATION + bytesOf(value);
  }
  for (const field of unset) native.unset[`doc.${field}`] = '';
  for (const [field, by] of increments) {
    // Doubles stay numbers of JavaScript, however large they get.
    native.inc[`doc.${field}`] = new Double(by);
    native.growth += field.length + PUNCTUATION + NUMBER_BYTES;
  }
  for (const [field, value] of pushes) {
    native.push[`doc.${field}`] = value;
    native.growth += field.length + PUNCTUATION + 2 + bytesOf(value);
  }
  for (const [field, value] of pulls) native.pull[`doc.${field}`] = value;
  return changeUnique(kept, { tenant, change, native }) ? native : undefined;
}

interface UniqueChange {
  tenant: string | null;
  change: CompiledChange;
  native: NativeChange;
}

/** False when what the unique sets become cannot be told from the change alone. */
function changeUnique({ unique }: KeptCollection, { tenant, change, native }: UniqueChange): boolean {
  const after = new Map([...change.sets, ...change.unset.map((field) => [field, null] as const)]);
  const touched = new Set([...after.keys(), ...[change.increments, change.pushes, change.pulls].flat().map(([field]) => field)]);
  for (const [name, fields] of unique) {
    if (!fields.some((field) => touched.has(field))) continue;
    if (fields.some((field) => after.has(field) && (after.get(field) ?? null) === null)) native.unset[`unique.${name}`] = '';
    else if (tenant === null || !fields.every((field) => after.has(field))) return false;
    else
      native.set[`unique.${name}`] = uniqueText(
        tenant,
        fields.map((field) => after.get(field)),
      );
  }
  return true;
}

/** As the server takes it; it refuses an operator without fields. */
export function updateOf({ set, unset, inc, push, pull }: Omit<NativeChange, 'growth'>): UpdateFilter<Kept> {
  const operators = { $set: set, $unset: unset, $inc: inc, $push: push, $pull: pull };
  return Object.fromEntries(Object.entries(operators).filter(([, fields]) => Object.keys(fields).length > 0));
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
