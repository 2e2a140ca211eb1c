import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { safeKeys } from './safe-keys.ts';
import { parseParams } from '../definition/validation.ts';

const schema = z.strictObject({ agents: z.record(z.string(), z.unknown()), list: z.array(z.unknown()).optional() }).check(safeKeys());

test('a name that reaches a prototype is refused at any depth, with its path, also where a record would leave it out', () => {
  const cases = {
    '{"agents":{"__proto__":{"admin":true}}}': 'agents.__proto__',
    '{"agents":{"constructor":{}}}': 'agents.constructor',
    '{"agents":{"oslo":{"deep":[{"prototype":1}]}}}': 'agents.oslo.deep.0.prototype',
    '{"agents":{},"list":[[{"__proto__":null}]]}': 'list.0.0.__proto__',
  };
  for (const [text, path] of Object.entries(cases))
    assert.throws(() => parseParams(schema, JSON.parse(text)), {
      code: 'INVALID_ARGUMENT',
      message: `Invalid params: ${path}: expected no such parameter, got an unknown name`,
    });
});

test('accepts objects without unsafe names, and any text as a value', () => {
  const value = { agents: { oslo: { name: '__proto__', proto: ['constructor'] } } };
  assert.deepEqual(parseParams(schema, value), value);
  assert.throws(() => parseParams(schema, { agents: 1 }), /agents: expected object/);
});

test('does not overflow the stack on deeply nested input', () => {
  let deep: unknown = {};
  for (let level = 0; level < 50_000; level++) deep = { a: deep };
  assert.ok(parseParams(schema, { agents: { deep } }));
});
