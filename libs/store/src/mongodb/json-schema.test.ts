import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { collection } from '../port/collection.ts';
import { json } from '../port/json-field.ts';
import { readCollectionSpec } from '../port/collection-shape.ts';
import { buildValidator } from './json-schema.ts';

test('buildValidator checks types of fields and nothing that a later version may widen', () => {
  const Tree: z.ZodType<unknown> = z.array(z.lazy(() => Tree));
  const schema = z.union([
    z.strictObject({
      id: z.string().regex(/^x/),
      state: z.enum(['a', 'b']),
      at: z.int().nonnegative().default(0),
      place: z.object({ x: z.number(), names: z.array(z.string()).optional() }),
      data: json(),
      calls: z.array(json()),
      tree: Tree,
    }),
    z.object({ id: z.string(), state: z.literal(7) }),
  ]);
  const { $jsonSchema } = buildValidator(readCollectionSpec(collection({ name: 'things', key: 'id', schema }))) as {
    $jsonSchema: { properties: { doc: { required: string[]; properties: Record<string, unknown> } } };
  };
  const { required, properties } = $jsonSchema.properties.doc;
  assert.deepEqual(required, ['id']);
  const nullOr = (...types: object[]) => ({ anyOf: [{ bsonType: 'null' }, ...types] });
  assert.deepEqual(properties, {
    id: { bsonType: 'string' },
    state: nullOr({ bsonType: ['string'] }, { bsonType: ['number'] }),
    at: nullOr({ bsonType: 'number' }),
    place: nullOr({
      bsonType: 'object',
      properties: { x: { bsonType: 'number' }, names: { bsonType: 'array', items: { bsonType: 'string' } } },
    }),
    data: nullOr({ bsonType: 'string' }),
    calls: nullOr({ bsonType: 'array', items: { bsonType: 'string' } }),
    tree: nullOr({ bsonType: 'array', items: {} }),
  });
});
