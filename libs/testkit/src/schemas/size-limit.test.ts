import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { largest, largestFields } from './size-limit.ts';

const worst = '\u0000';

/** Schemas with the largest value that each accepts. */
const cases: [name: string, schema: z.ZodType, value: unknown][] = [
  ['a text of control characters', z.string().max(9), worst.repeat(9)],
  ['of several maxima the least', z.string().max(9).max(5), worst.repeat(5)],
  [
    'a text that is written as it is',
    z
      .string()
      .max(9)
      .regex(/^[A-Za-z0-9_.-]*$/),
    'Az0_.-Az0',
  ],
  ['a number', z.number(), -Number.MIN_VALUE - 1.2345678901234567e-100],
  ['false', z.boolean(), false],
  ['words', z.enum(['a', 'longest']), 'longest'],
  ['a literal', z.literal('x'), 'x'],
  ['a list', z.array(z.string().max(3)).max(4), Array.from({ length: 4 }, () => worst.repeat(3))],
  ['an object', z.object({ a: z.string().max(3).optional(), b: z.null() }), { a: worst.repeat(3), b: null }],
  ['a record', z.record(z.string().max(2), z.boolean()).refine(() => true), {}],
  ['what may be null', z.string().max(1).nullable(), worst],
  ['one of several', z.union([z.boolean(), z.array(z.int()).max(2)]), [Number.MIN_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]],
];

for (const [name, schema, value] of cases) {
  test(`largest is an upper bound: ${name}`, () => {
    assert.ok(schema.safeParse(value).success);
    assert.ok(Buffer.byteLength(JSON.stringify(value)) <= largest(schema), `${largest(schema)}`);
  });
}

test('largest returns Infinity for unbounded schemas', () => {
  const endless = [
    z.string(),
    z.array(z.int()),
    z.unknown(),
    z.record(z.string().max(1), z.int()),
    z.looseObject({}),
    z.tuple([z.int()]).rest(z.int()),
  ];
  for (const schema of endless) assert.equal(largest(schema), Infinity);
  assert.equal(largest(z.object({ a: z.unknown() })), Infinity);
});

test('largestFields splits objects and returns other schemas as one part', () => {
  assert.deepEqual(
    [...largestFields(z.object({ a: z.boolean(), b: z.unknown() }))],
    [
      ['a', 10],
      ['b', Infinity],
    ],
  );
  assert.deepEqual([...largestFields(z.boolean())], [['', 5]]);
});
