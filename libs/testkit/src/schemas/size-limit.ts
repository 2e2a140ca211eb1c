import type { z } from 'zod';

type Schema = z.core.$ZodType;
type Def = z.core.$ZodTypes['_zod']['def'];

/** Maximum size of a JSON character: `\u0000`. */
const CHARACTER_BYTES = 6;
/** Texts with this pattern need no escapes in JSON. */
const PLAIN = '^[A-Za-z0-9_.-]*$';
const NUMBER_BYTES = 24;
const WORD_BYTES = 5;

/** Returns the maximum size in bytes of a value as compact JSON; Infinity if the schema has no limit. */
export function largest(schema: Schema): number {
  return measure(schema, new Set());
}

/** Returns the maximum size of each field of an object; other schemas have one entry with an empty name. */
export function largestFields(schema: Schema): Map<string, number> {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type !== 'object') return new Map([['', largest(schema)]]);
  return new Map(Object.entries(def.shape as z.core.$ZodShape).map(([name, field]) => [name, nameBytes(name) + largest(field)]));
}

function measure(schema: Schema, above: ReadonlySet<Schema>): number {
  if (above.has(schema)) return Infinity;
  const inside = new Set([...above, schema]);
  const of = (part: Schema): number => measure(part, inside);
  const def = schema._zod.def as Def;
  switch (def.type) {
    case 'string':
    case 'template_literal':
      return 2 + (isPlain(schema) ? 1 : CHARACTER_BYTES) * getMaximum(schema);
    case 'number':
      return NUMBER_BYTES;
    case 'boolean':
    case 'null':
      return WORD_BYTES;
    case 'literal':
    case 'enum':
      return Math.max(...[...(schema._zod.values ?? [''])].map((value) => Buffer.byteLength(JSON.stringify(value ?? null))));
    case 'object':
      return objectBytes(def, of);
    case 'array':
      return 2 + getMaximum(schema) * (1 + of(def.element));
    case 'tuple':
      return def.rest === null ? def.items.reduce((bytes, item) => bytes + 1 + of(item), 2) : Infinity;
    case 'record':
      return recordBytes(schema, def, of);
    case 'union':
      return Math.max(...def.options.map(of));
    case 'intersection':
      return of(def.left) + of(def.right);
    case 'pipe':
      return Math.max(of(def.in), of(def.out));
    case 'transform':
    case 'never':
      return 0;
    case 'nullable':
      return Math.max(of(def.innerType), WORD_BYTES);
    default:
      return 'innerType' in def ? of(def.innerType) : Infinity;
  }
}

function objectBytes({ shape, catchall }: z.core.$ZodObjectDef, of: (part: Schema) => number): number {
  if (catchall !== undefined && catchall._zod.def.type !== 'never') return Infinity;
  return Object.entries(shape).reduce((bytes, [name, field]) => bytes + nameBytes(name) + of(field), 2);
}

function recordBytes(schema: Schema, { keyType, valueType }: z.core.$ZodRecordDef, of: (part: Schema) => number): number {
  const names = keyType._zod.values?.size ?? getMaximum(schema);
  return 2 + names * (2 + of(keyType) + of(valueType));
}

/** Includes quotes, colon and comma. */
function nameBytes(name: string): number {
  return Buffer.byteLength(JSON.stringify(name)) + 2;
}

function isPlain({ _zod: { def } }: Schema): boolean {
  return (def.checks ?? []).some((check) => (check._zod.def as { pattern?: RegExp }).pattern?.source === PLAIN);
}

/** Returns the smallest limit of all checks. */
function getMaximum({ _zod: { def, bag } }: Schema): number {
  const checks = (def.checks ?? []).map((check) => check._zod.def as { maximum?: unknown; length?: unknown });
  const limits = [bag as { maximum?: unknown; length?: unknown }, ...checks].flatMap(({ maximum, length }) => [maximum, length]);
  return Math.min(Infinity, ...limits.filter((limit) => typeof limit === 'number'));
}
