import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { createFastValidator } from './fast-validator.ts';
import { json } from './json-field.ts';

const leaves: z.ZodType[] = [
  z.string(),
  z.string().min(2),
  z.string().trim(),
  z.email(),
  z.number(),
  z.int(),
  z.int32(),
  z.int().nonnegative(),
  z.number().nonnegative(),
  z.number().positive(),
  z.number().positive().nonnegative(),
  z.number().max(0),
  z.number().min(-1),
  z.number().multipleOf(2),
  z.number().refine((n) => n !== 1),
  z.boolean(),
  z.enum(['a', 'b']),
  z.literal(true),
  z.literal(['a', 1]),
  z.string().default('x'),
  z.coerce.number(),
  z.union([z.string(), z.number()]),
  z.record(z.string(), z.unknown()),
  json(),
  json(z.string()),
];
/** Composite schemas as in documents. */
const schemas = fc.letrec<{ schema: z.ZodType }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom(...leaves),
    tie('schema').map((one) => one.optional()),
    tie('schema').map((one) => one.nullable()),
    tie('schema').map((one) => z.array(one)),
    fc.tuple(tie('schema'), tie('schema')).map(([x, y]) => z.object({ x, y: y.optional() })),
    tie('schema').map((x) => z.strictObject({ x })),
    tie('schema').map((x) => z.looseObject({ x })),
    tie('schema').map((x) => z.object({ x }).refine((value) => value.x !== 'a')),
  ),
})).schema;

const scalar = fc.constantFrom(
  undefined,
  null,
  '',
  'a',
  ' a',
  'b@c.de',
  -1,
  0,
  -0,
  1,
  2,
  1.5,
  NaN,
  Infinity,
  2 ** 31,
  2 ** 53,
  true,
  false,
);
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.constant(new Date(0)),
    fc.constant(Array(2)),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.record({ x: tie('value'), y: tie('value'), z: scalar }, { requiredKeys: [] }),
  ),
})).value;

test('accepts only values that the schema keeps unchanged', () => {
  const property = fc.property(schemas, values, (schema, value) => {
    if (!createFastValidator(schema)(value)) return;
    const parsed = schema.safeParse(value);
    assert.ok(parsed.success, JSON.stringify(value));
    assert.deepEqual(parsed.data, value);
    assert.ok(schema.safeParse(value === undefined ? undefined : JSON.parse(JSON.stringify(value))).success, 'also as JSON keeps it');
  });
  fc.assert(property, { numRuns: 20_000 });
});

test('agrees with the schema for every type and value', () => {
  for (const schema of leaves.flatMap((one) => [one, one.optional(), one.nullable(), z.array(one)]))
    for (const value of [undefined, null, ...fc.sample(values, 200)]) {
      if (!createFastValidator(schema)(value)) continue;
      const parsed = schema.safeParse(value);
      assert.deepEqual(parsed.data, value, `${schema.type} ${JSON.stringify(schema.def)}`);
    }
});

test('accepts typical documents', () => {
  const count = z.int().nonnegative();
  const schema = z.object({
    id: z.string(),
    n: count,
    at: count.optional(),
    cost: z.number().nonnegative(),
    list: z.array(z.string()),
    on: z.literal(true),
  });
  const accepts = createFastValidator(schema);
  assert.ok(accepts({ id: '1', n: 0, cost: 0.5, list: ['a'], on: true }));
  assert.ok(accepts({ id: '1', n: 3, at: undefined, cost: 0, list: [], on: true }));
  for (const wrong of [{ n: -1 }, { n: 1.5 }, { cost: NaN }, { list: [1] }, { on: false }, { more: 1 }])
    assert.ok(!accepts({ id: '1', n: 0, cost: 0.5, list: ['a'], on: true, ...wrong }), JSON.stringify(wrong));
});
