import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inputSchema } from '@switchyard/contracts';
import { z } from 'zod';
import { describeDefault, describeType } from './describe-schema.ts';

test('describeType names the type and its bounds', () => {
  const told: [z.ZodType, string][] = [
    [z.boolean(), '`true` or `false`'],
    [z.int().positive(), 'whole number, 1 or more'],
    [z.int().nonnegative(), 'whole number, 0 or more'],
    [z.int().min(3).max(100), 'whole number, 3 to 100'],
    [z.number().positive(), 'number, above 0'],
    [z.string(), 'text'],
    [z.string().min(1).max(64), 'text, not empty, at most 64 characters'],
    [z.string().regex(/^a+$/), 'text, like `^a+$`'],
    [z.enum(['a', 'b']), '`a` `b`'],
    [z.array(z.string()), 'list of text'],
    [z.record(z.string(), z.int()), 'map of whole number'],
    [z.union([z.enum(['a']), z.literal(false)]), '`a` or `false`'],
    [z.strictObject({ a: z.string(), b: z.string() }), 'object with `a` `b`'],
    [z.unknown(), 'anything'],
  ];
  for (const [schema, text] of told) assert.equal(describeType(inputSchema(schema)), text);
});

test('describeDefault writes a default as in a file, and returns an empty text without one', () => {
  const told: [z.ZodType, string][] = [
    [z.string().default('a'), '`"a"`'],
    [z.string().default(''), 'empty'],
    [z.array(z.string()).default(['a']), '`["a"]`'],
    [z.int().default(0), '`0`'],
    [z.string().optional(), ''],
  ];
  for (const [schema, text] of told) assert.equal(describeDefault(inputSchema(schema)), text);
});
