import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { largestFields } from '@switchyard/testkit';
import type { z } from 'zod';
import { INLINE_BYTES } from './blob-ref.ts';
import { unserved } from '../catalog/unserved-methods.ts';
import { callables, type MethodName } from '../catalog/contracts.ts';

const ALL = '*';
const served = [...callables.values()].filter(({ name }) => !unserved.has(name as MethodName));

/** Maximum size of a message without the named fields. */
function rest(schema: z.ZodType, named: ReadonlySet<string>): number {
  if (named.has(ALL)) return 0;
  return [...largestFields(schema)].reduce((bytes, [field, max]) => bytes + (named.has(field) ? 0 : max), 2);
}

describe('fields that can exceed a message are named in blobs', () => {
  test('in each contract that somebody serves: without the named fields, params and result always fit', () => {
    assert.ok(served.length > 25, `${served.length} are served`);
    const missing = served.flatMap(({ name, spec: { blobs = [], params, result } }) =>
      Object.entries({ params, result }).flatMap(([part, schema]) => {
        if (rest(schema, new Set(blobs)) <= INLINE_BYTES) return [];
        const fields = [...largestFields(schema)].filter(([field]) => !blobs.includes(field)).toSorted((a, b) => b[1] - a[1]);
        return `${name}: ${part} may be too large for a message; name in blobs ${fields.map(([field, most]) => `${field || ALL} (${most})`).join(', ')}`;
      }),
    );
    assert.deepEqual(missing, []);
  });

  test('and nothing else: each named field is there, and without it the rest would not fit', () => {
    for (const { name, spec } of served) {
      const { blobs = [], params, result } = spec;
      for (const field of blobs.filter((one) => one !== ALL)) {
        const others = new Set(blobs.filter((one) => one !== field));
        const holders = [params, result].filter((schema) => largestFields(schema).has(field));
        assert.ok(holders.length > 0, `${name} has no field ${field}`);
        const needed = holders.some((schema) => rest(schema, others) > INLINE_BYTES);
        assert.ok(needed, `${name}: ${field} always fits a message with the rest`);
      }
    }
  });

  test('each callable says of its params and its result whether they may be large', () => {
    const large = (name: string) => callables.get(name)?.large;
    assert.deepEqual(large('agent.execute'), { params: true, result: true });
    assert.deepEqual(large('session.export'), { params: false, result: true });
    assert.deepEqual(large('turns.start'), { params: true, result: false });
    assert.deepEqual(large('agents.update'), { params: true, result: true });
    assert.deepEqual(large('secrets.resolve'), { params: false, result: false }, 'a secret is never put aside');
  });
});
