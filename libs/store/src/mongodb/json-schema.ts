import { z } from 'zod';
import type { CollectionShape } from '../port/collection-shape.ts';

type Schema = Record<string, unknown>;

const BSON_TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'bool',
  array: 'array',
  object: 'object',
  null: 'null',
};

/**
 * Builds the validator of a collection. It checks field types only, because two versions write concurrently during an upgrade; the
 * schema in the service checks everything else.
 */
export function buildValidator(shape: CollectionShape): Schema {
  const properties: Schema = {};
  for (const [field, types] of shape.fields) {
    if (field !== shape.spec.key)
      properties[field] = { anyOf: [{ bsonType: 'null' }, ...types.map((type) => buildFieldSchema(shape, field, type))] };
  }
  properties[shape.spec.key] = { bsonType: 'string' };
  const doc = { bsonType: 'object', required: [shape.spec.key], properties };
  const text = { bsonType: 'string' };
  return {
    $jsonSchema: {
      bsonType: 'object',
      required: ['_id', 'rev'],
      properties: { _id: text, tenant: text, deletedTenant: text, lease: text, doc },
    },
  };
}

function buildFieldSchema({ json }: CollectionShape, field: string, type: z.ZodType): Schema {
  const part = json.get(field);
  if (part === 'field') return { bsonType: 'string' };
  if (part === 'entries') return { bsonType: 'array', items: { bsonType: 'string' } };
  return toBsonTypes(z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' }));
}

/** Converts the keywords of JSON Schema that MongoDB supports and omits the others. */
function toBsonTypes(schema: Schema): Schema {
  const alternatives = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(alternatives)) return { anyOf: alternatives.map((one: Schema) => toBsonTypes(one)) };
  const values = Array.isArray(schema['enum']) ? schema['enum'] : 'const' in schema ? [schema['const']] : undefined;
  if (values !== undefined)
    return { bsonType: [...new Set(values.map((value: unknown) => BSON_TYPES[value === null ? 'null' : typeof value] ?? 'object'))] };
  const bsonType = BSON_TYPES[String(schema['type'])];
  if (bsonType === undefined) return {};
  const items = bsonType === 'array' && isSchema(schema['items']) ? { items: toBsonTypes(schema['items']) } : {};
  const inner = bsonType === 'object' && isSchema(schema['properties']) ? Object.entries(schema['properties']) : [];
  const properties = Object.fromEntries(inner.map(([name, one]) => [name, toBsonTypes(one as Schema)]));
  return { bsonType, ...items, ...(inner.length === 0 ? {} : { properties }) };
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
