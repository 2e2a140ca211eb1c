import { createPatchSchema } from '@switchyard/contracts';
import { z } from 'zod';

/** Removes default, optional and nullable wrappers. */
function bare(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable
    ? bare(schema.unwrap())
    : schema;
}

export interface Step {
  key: string;
  schema: z.core.$ZodType;
}

/** Lists the declared keys of an object schema. */
export function knownKeys(schema: z.core.$ZodType): string[] {
  const inner = bare(schema);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

/** Lists the keys that are valid as the last part of a path. */
export function keysBeside(schema: z.core.$ZodType, path: readonly string[]): string[] {
  let at: z.core.$ZodType | undefined = schema;
  for (const key of path.slice(0, -1)) at = at && stepInto(at, key);
  return at === undefined ? [] : knownKeys(at);
}

/** Returns the schema of a key, by its exact name; undefined if there is none. */
export function stepInto(schema: z.core.$ZodType, key: string): z.core.$ZodType | undefined {
  const inner = bare(schema);
  if (inner instanceof z.ZodObject) {
    const shape = inner.shape as z.core.$ZodShape;
    return Object.hasOwn(shape, key) ? shape[key] : undefined;
  }
  return inner instanceof z.ZodRecord ? inner.valueType : undefined;
}

/** Finds a key by a part of a variable name: `MAX_REQUESTS` finds `maxRequests`. In a map, the lower-case part is the key. */
export function stepByVariable(schema: z.core.$ZodType, part: string): Step | undefined {
  const requested = squash(part);
  const known = knownKeys(schema).find((key) => squash(key) === requested);
  const key = known ?? (bare(schema) instanceof z.ZodRecord ? part.toLowerCase() : undefined);
  const next = key === undefined ? undefined : stepInto(schema, key);
  return key === undefined || next === undefined ? undefined : { key, schema: next };
}

/** Converts `maxRequests` to `MAX_REQUESTS`. */
export function variablePart(key: string): string {
  return key.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase();
}

/** Parses a text for a schema: unchanged if the schema accepts text, otherwise as JSON (numbers, booleans, lists, objects). */
export function readAs(schema: z.core.$ZodType, text: string): unknown {
  const accepts = createPatchSchema(schema as z.ZodType);
  if (accepts.safeParse(text).success) return text;
  const json = parseJson(text);
  if (json === undefined) return text;
  if (typeof json === 'object') return json;
  return accepts.safeParse(json).error?.issues.every(isOtherKind) === true ? text : json;
}

/** Whether the value has the wrong type. A number that is too large is reported as a number and not as text. */
function isOtherKind({ code }: z.core.$ZodIssue): boolean {
  return code === 'invalid_type' || code === 'invalid_union' || code === 'invalid_value';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function squash(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}
