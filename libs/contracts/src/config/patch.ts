import { z } from 'zod';
import { getKeyedEntry, isWrapper, unwrap } from './keyed-list.ts';

/** Makes all fields optional at every depth. Lists are replaced whole. */
export type DeepPartial<T> = T extends readonly unknown[] ? T : T extends object ? { [K in keyof T]?: DeepPartial<T[K]> | undefined } : T;

type PatchSchema<S extends z.ZodType> = z.ZodType<DeepPartial<z.input<S>>, DeepPartial<z.input<S>>>;

/** The schema of a change: the same keys, each optional, and no defaults, so that what was not said stays unsaid. */
export function createPatchSchema<S extends z.ZodType>(schema: S): PatchSchema<S> {
  return loosen(schema, PATCH) as PatchSchema<S>;
}

/**
 * The schema of a change that is merged by `mergeChange`: besides, `null` removes a key, and an entry of a keyed list may name its key and only
 * the fields that change.
 */
export function createMergeSchema<S extends z.ZodType>(schema: S): PatchSchema<S> {
  return loosen(schema, MERGE) as PatchSchema<S>;
}

/** A kind of loosened schema. Sections are parts of several schemas of changes: of each kind there is one. */
interface Kind {
  merges: boolean;
  known: WeakMap<z.core.$ZodType, z.ZodType>;
}

const PATCH: Kind = { merges: false, known: new WeakMap() };
const MERGE: Kind = { merges: true, known: new WeakMap() };

function loosen(schema: z.core.$ZodType, kind: Kind): z.ZodType {
  const known = kind.known.get(schema);
  if (known !== undefined) return known;
  const loose = loosenType(schema, kind);
  const description = z.globalRegistry.get(schema)?.description;
  const made = description === undefined || z.globalRegistry.get(loose)?.description !== undefined ? loose : loose.describe(description);
  kind.known.set(schema, made);
  return made;
}

function loosenType(schema: z.core.$ZodType, kind: Kind): z.ZodType {
  if (isWrapper(schema)) return loosen(schema.unwrap(), kind);
  if (schema instanceof z.ZodRecord) {
    const value = loosen(schema.valueType, kind);
    const acceptsNull = !kind.merges || value instanceof z.ZodUnknown;
    return schema.clone({ ...schema.def, valueType: acceptsNull ? value : value.nullable() });
  }
  if (schema instanceof z.ZodObject) return z.strictObject(loosenShape(schema.shape as z.core.$ZodShape, kind));
  const entry = kind.merges ? getKeyedEntry(schema) : undefined;
  if (entry) {
    const { [entry.key]: key, ...others } = entry.schema.shape as Record<string, z.core.$ZodType>;
    const change = loosenShape(others, kind);
    Object.defineProperty(change, entry.key, { enumerable: true, value: (unwrap(key as z.core.$ZodType) as z.ZodType).optional() });
    return (schema as z.ZodArray).clone({ ...(schema as z.ZodArray).def, element: z.strictObject(change) });
  }
  return schema as z.ZodType;
}

/** Keys are made when somebody reads them: all changes that could be written are thousands of schemas, and most processes see none. */
function loosenShape(shape: z.core.$ZodShape, kind: Kind): z.core.$ZodShape {
  const loose = {};
  for (const [key, inner] of Object.entries(shape))
    Object.defineProperty(loose, key, {
      enumerable: true,
      get: () => (kind.merges ? loosen(inner, kind).nullable().optional() : loosen(inner, kind).optional()),
    });
  return loose;
}
