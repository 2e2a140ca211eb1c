import { z } from 'zod';
import type { Document } from './collection.ts';
import { misuseError } from './store-misuse.ts';

const jsonTypes = new WeakSet<z.ZodType>();

/**
 * JSON that is not ours: the input of a tool, metadata, settings. It is kept as text, so that no database reads anything into its
 * names and values, and comes back as it went. It stands as a field, or as the entries of an array field, and is never searched.
 */
export function json(): z.ZodUnknown;
export function json<S extends z.ZodType>(schema: S): S;
export function json(schema: z.ZodType = z.unknown()): z.ZodType {
  const own = schema.clone();
  jsonTypes.add(own);
  return own;
}

export function isJson(type: z.ZodType): boolean {
  return jsonTypes.has(type);
}

/** What of a field is kept as text: all of it, or each entry. */
export type JsonPart = 'field' | 'entries';

/** Refuses what no database keeps faithfully: names that are not ours, outside of `json()`. */
export function findJsonPart(collection: string, field: string, type: z.ZodType): JsonPart | undefined {
  const bare = unwrapSchema(type);
  if (jsonTypes.has(bare)) return 'field';
  if (bare instanceof z.ZodArray && jsonTypes.has(unwrapSchema(bare.element as z.ZodType))) return 'entries';
  if (!hasOnlyDeclaredNames(bare))
    throw misuseError(collection, `${field} holds names or values that are not ours; declare it, or each of its entries, json()`);
  return undefined;
}

/** As it is stored; what is null stays null, so that it is absent to every query. */
export function encodeJson(part: JsonPart, value: unknown): unknown {
  if (value === undefined || value === null) return value;
  return part === 'field' ? JSON.stringify(value) : (value as unknown[]).map((entry) => JSON.stringify(entry ?? null));
}

/** As it was given. What is not text was written before the field was declared `json()`, and is what it is. */
export function decodeJson(parts: ReadonlyMap<string, JsonPart>, document: Document): void {
  for (const [field, part] of parts) {
    const value = document[field];
    if (part === 'field') {
      if (typeof value === 'string') document[field] = JSON.parse(value);
    } else if (Array.isArray(value)) {
      document[field] = value.map((entry: unknown): unknown => (typeof entry === 'string' ? JSON.parse(entry) : entry));
    }
  }
}

/** Without what only says whether it may be missing. */
export function unwrapSchema(type: z.ZodType): z.ZodType {
  let bare = type;
  while (
    !jsonTypes.has(bare) &&
    (bare instanceof z.ZodOptional || bare instanceof z.ZodNullable || bare instanceof z.ZodDefault || bare instanceof z.ZodReadonly)
  ) {
    bare = bare.unwrap() as z.ZodType;
  }
  return bare;
}

function hasOnlyDeclaredNames(type: z.ZodType): boolean {
  const bare = unwrapSchema(type);
  if (jsonTypes.has(bare) || bare instanceof z.ZodUnknown || bare instanceof z.ZodAny || bare instanceof z.ZodRecord) return false;
  if (bare instanceof z.ZodArray) return hasOnlyDeclaredNames(bare.element as z.ZodType);
  if (bare instanceof z.ZodObject) return Object.values(bare.shape).every((inner) => hasOnlyDeclaredNames(inner as z.ZodType));
  if (bare instanceof z.ZodUnion) return bare.options.every((option) => hasOnlyDeclaredNames(option as z.ZodType));
  if (bare instanceof z.ZodIntersection)
    return hasOnlyDeclaredNames(bare.def.left as z.ZodType) && hasOnlyDeclaredNames(bare.def.right as z.ZodType);
  return true;
}
