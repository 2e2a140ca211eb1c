import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { Configuration } from './sections.ts';

/** Lists the paths of numbers without a minimum or a maximum. */
function listUnbounded(schema: z.core.$ZodType, path: string): string[] {
  if ('unwrap' in schema && typeof schema.unwrap === 'function') return listUnbounded(schema.unwrap() as z.core.$ZodType, path);
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape as z.core.$ZodShape).flatMap(([key, inner]) =>
      listUnbounded(inner, path === '' ? key : `${path}.${key}`),
    );
  if (schema instanceof z.ZodRecord) return listUnbounded(schema.valueType, `${path}.*`);
  if (schema instanceof z.ZodArray) return listUnbounded(schema.element, `${path}[]`);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => listUnbounded(option, path));
  if (!(schema instanceof z.ZodNumber)) return [];
  const { minValue, maxValue } = schema;
  const isBounded = (value: number | null): boolean => value !== null && Math.abs(value) < Number.MAX_SAFE_INTEGER;
  return isBounded(minValue) && isBounded(maxValue) ? [] : [`${path}: ${minValue} to ${maxValue}`];
}

test('every number of the configuration has a minimum and a maximum', () => {
  assert.deepEqual(listUnbounded(Configuration, ''), []);
});

test('no time is longer than a timer can wait', () => {
  const tooLong = { gateway: { wsHeartbeatMs: 2 ** 31 } };
  assert.equal(Configuration.safeParse(tooLong).success, false);
  assert.equal(Configuration.safeParse({ gateway: { wsHeartbeatMs: 2 ** 31 - 1 } }).success, true);
});
