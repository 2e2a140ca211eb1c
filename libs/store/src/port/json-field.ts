import { z } from 'zod';
import type { Document } from './collection.ts';
import { misuseError } from './store-misuse.ts';

const jsonTypes = new WeakSet<z.ZodType>();

/**
 * Declares a field, or the entries of an array field, as arbitrary JSON, such as tool input. It is stored as text, because databases
 * reject or change some names and values, and cannot be searched.
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

/** Whether the whole field or each of its entries is stored as text. */
export type JsonPart = 'field' | 'entries';

/** Returns how a field is stored. Throws for undeclared names outside of `json()`, which databases do not store faithfully. */
export function findJsonPart(collection: string, field: string, type: z.ZodType): JsonPart | undefined {
  const bare = unwrapSchema(type);
  if (jsonTypes.has(bare)) return 'field';
  if (bare instanceof z.ZodArray && jsonTypes.has(unwrapSchema(bare.element as z.ZodType))) return 'entries';
  if (!hasOnlyDeclaredNames(bare))
    throw misuseError(collection, `${field} contains undeclared names or values; declare it, or each of its entries, as json()`);
  return undefined;
}

/** Null stays null, so that queries treat it as absent. */
export function encodeJson(part: JsonPart, value: unknown): unknown {
  if (value === undefined || value === null) return value;
  return part === 'field' ? JSON.stringify(value) : (value as unknown[]).map((entry) => JSON.stringify(entry ?? null));
}

/** Values that are not text were written before the field was declared `json()` and stay as they are. */
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

/** Removes optional, nullable, default and readonly wrappers. */
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
