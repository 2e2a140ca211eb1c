import { z } from 'zod';

/** What may be left out of a change: everything, at every depth. Lists are replaced whole. */
export type DeepPartial<T> = T extends readonly unknown[] ? T : T extends object ? { [K in keyof T]?: DeepPartial<T[K]> | undefined } : T;

/** The schema of a change: the same keys, each optional, and no defaults, so that what was not said stays unsaid. */
export function patchOf<S extends z.ZodType>(schema: S): z.ZodType<DeepPartial<z.input<S>>, DeepPartial<z.input<S>>> {
  return loosen(schema) as z.ZodType<DeepPartial<z.input<S>>, DeepPartial<z.input<S>>>;
}

function loosen(schema: z.core.$ZodType): z.ZodType {
  const loose = loosenKind(schema);
  const description = z.globalRegistry.get(schema)?.description;
  return description === undefined || z.globalRegistry.get(loose)?.description !== undefined ? loose : loose.describe(description);
}

function loosenKind(schema: z.core.$ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return loosen(schema.unwrap());
  if (schema instanceof z.ZodRecord) return schema.clone({ ...schema.def, valueType: loosen(schema.valueType) });
  if (schema instanceof z.ZodObject) {
    const shape = Object.entries(schema.shape as z.core.$ZodShape).map(([key, inner]) => [key, loosen(inner).optional()] as const);
    return z.strictObject(Object.fromEntries(shape));
  }
  return schema as z.ZodType;
}
