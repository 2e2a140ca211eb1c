import { z } from 'zod';

/** Makes all fields optional at every depth. Lists are replaced whole. */
export type DeepPartial<T> = T extends readonly unknown[] ? T : T extends object ? { [K in keyof T]?: DeepPartial<T[K]> | undefined } : T;

/** The schema of a change: the same keys, each optional, and no defaults, so that what was not said stays unsaid. */
export function createPatchSchema<S extends z.ZodType>(schema: S): z.ZodType<DeepPartial<z.input<S>>, DeepPartial<z.input<S>>> {
  return loosen(schema) as z.ZodType<DeepPartial<z.input<S>>, DeepPartial<z.input<S>>>;
}

/** Sections are parts of several schemas of changes: of each there is one. */
const loosened = new WeakMap<z.core.$ZodType, z.ZodType>();

function loosen(schema: z.core.$ZodType): z.ZodType {
  const known = loosened.get(schema);
  if (known !== undefined) return known;
  const loose = loosenKind(schema);
  const description = z.globalRegistry.get(schema)?.description;
  const made = description === undefined || z.globalRegistry.get(loose)?.description !== undefined ? loose : loose.describe(description);
  loosened.set(schema, made);
  return made;
}

function loosenKind(schema: z.core.$ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return loosen(schema.unwrap());
  if (schema instanceof z.ZodRecord) return schema.clone({ ...schema.def, valueType: loosen(schema.valueType) });
  if (schema instanceof z.ZodObject) return z.strictObject(loosenShape(schema.shape as z.core.$ZodShape));
  return schema as z.ZodType;
}

/** Keys are made when somebody reads them: all changes that could be written are thousands of schemas, and most processes see none. */
function loosenShape(shape: z.core.$ZodShape): z.core.$ZodShape {
  const loose = {};
  for (const [key, inner] of Object.entries(shape))
    Object.defineProperty(loose, key, { enumerable: true, get: () => loosen(inner).optional() });
  return loose;
}
