import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { unbounded } from './unbounded-fields.ts';

const endless = z.string();
const short = z.string().max(9);

describe('unbounded returns the path of each unbounded field', () => {
  const cases: [string, z.ZodType, string[]][] = [
    ['a text', endless, ['the whole']],
    ['a text of a form', z.object({ at: z.url() }), ['at']],
    ['a pattern says nothing about length', z.object({ id: z.string().regex(/^x+$/) }), ['id']],
    ['a list, and what is in it', z.object({ tags: z.array(endless) }), ['tags', 'tags[]']],
    ['a list with an end of texts without', z.object({ tags: z.array(endless).max(9) }), ['tags[]']],
    ['a least length is no maximum', z.array(short).min(1), ['the whole']],
    ['a record, its names and its values', z.record(endless, endless), ['the whole', '<name>', '*']],
    ['a set and a map', z.object({ a: z.set(short), b: z.map(short, short) }), ['a', 'b']],
    ['further fields', z.object({ a: short }).catchall(short), ['the whole']],
    ['the rest of a tuple', z.tuple([endless], z.int()), ['the whole', '[0]']],
    ['what a schema wraps', z.object({ a: endless.optional().default('').readonly() }), ['a']],
    ['prefault, nullable, catch', z.object({ a: endless.prefault(''), b: endless.nullable(), c: endless.catch('') }), ['a', 'b', 'c']],
    ['both ends of a pipe', z.object({ a: endless.transform(Number), b: z.preprocess(String, endless) }), ['a', 'b']],
    ['one branch of a union', z.object({ a: z.union([short, z.object({ b: endless })]) }), ['a.b']],
    ['one branch of several kinds', z.discriminatedUnion('t', [z.object({ t: z.literal('x'), b: endless })]), ['b']],
    ['one side of an intersection', z.intersection(z.object({ a: short }), z.object({ b: endless })), ['b']],
    ['what is told later', z.object({ a: z.lazy(() => endless) }), ['a']],
    ['what this walk cannot look into', z.object({ a: z.instanceof(Date) }), ['a']],
  ];
  for (const [name, schema, paths] of cases) test(name, () => assert.deepEqual(unbounded(schema), paths));

  test('visits a recursive schema once', () => {
    const Tree = z.object({
      name: endless,
      get children() {
        return z.array(Tree).max(9);
      },
    });
    assert.deepEqual(unbounded(Tree), ['name']);
  });
});

test('unbounded returns nothing for bounded schemas', () => {
  const bounded = z.strictObject({
    a: short.optional(),
    b: z.array(z.enum(['x', 'y'])).max(2),
    c: z.int(),
    d: z.literal('x').nullable(),
    e: z.tuple([z.boolean(), short]),
    f: z.union([z.url().max(99), z.null()]),
    g: z.record(z.enum(['x', 'y']), z.number()),
    h: z.record(z.string(), z.unknown()),
    i: z.looseObject({ a: z.unknown() }),
  });
  assert.deepEqual(unbounded(bounded), []);
});
