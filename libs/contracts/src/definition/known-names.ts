import { z } from 'zod';

type Schema = z.core.$ZodType;

/** Lists the names that a schema accepts at a path; none if the path leads to no object with fixed names. */
export function listKnownNames(schema: Schema, path: readonly PropertyKey[]): string[] {
  const names = follow([schema], path).flatMap((found) => (found instanceof z.ZodObject ? Object.keys(found.shape) : []));
  return [...new Set(names)];
}

function follow(schemas: readonly Schema[], [key, ...below]: readonly PropertyKey[]): Schema[] {
  const reached = schemas.flatMap(expand);
  return key === undefined
    ? reached
    : follow(
        reached.flatMap((schema) => getChild(schema, key)),
        below,
      );
}

/** Removes wrappers, and replaces a union by its members. */
function expand(schema: Schema): Schema[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(expand);
  if (schema instanceof z.ZodIntersection) return [schema.def.left, schema.def.right].flatMap(expand);
  if (schema instanceof z.ZodPipe) return expand(schema.in);
  if (schema instanceof z.ZodLazy) return expand(schema.unwrap());
  const isWrapped =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodReadonly;
  return isWrapped ? expand(schema.unwrap()) : [schema];
}

function getChild(schema: Schema, key: PropertyKey): Schema[] {
  if (schema instanceof z.ZodArray) return [schema.element];
  if (schema instanceof z.ZodRecord) return [schema.valueType];
  if (schema instanceof z.ZodObject && Object.hasOwn(schema.shape, key)) return [(schema.shape as z.core.$ZodShape)[String(key)]!];
  return [];
}
