import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { maxKeys } from '../values/max-keys.ts';
import { callables } from './contracts.ts';
import { validate } from '../definition/validation.ts';

const RUNS = 5;
/** Maximum repetitions when other processes disturb the measurement; an expensive case stays expensive in all of them. */
const MAX_RUNS = 15;
/** Refusing may cost as much as reading the text did, with room for a run that was interrupted. */
const FACTOR = 3;

function timed(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

/** Returns the fastest run of each, measured alternately, because other load only adds time. An expensive result is measured again. */
function costs(read: () => unknown, refuse: () => unknown): { reading: number; refusing: number } {
  let [reading, refusing] = [Infinity, Infinity];
  for (let run = 0; run < RUNS || (run < MAX_RUNS && refusing >= FACTOR * reading); run += 1) {
    reading = Math.min(reading, timed(read));
    refusing = Math.min(refusing, timed(refuse));
  }
  return { reading, refusing };
}

const names = (count: number, value: unknown) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`name${at}`, value]));
const list = (count: number, value: unknown) => Array.from({ length: count }, () => value);
const params = (method: string): z.ZodType => {
  const callable = callables.get(method);
  assert.ok(callable, method);
  return callable.spec.params;
};

const Row = z.array(z.enum(['a', 'b'])).max(1_000);
const Form = z.strictObject({ id: z.string().max(9), tags: Row });
const at = (field: z.ZodType): z.ZodType => z.strictObject({ field });

const hostile: [string, z.ZodType, unknown][] = [
  ['a list of 520,000 scopes', params('tokens.create'), { id: 'x', scopes: list(520_000, 1) }],
  ['a list in one form of a union', at(z.union([z.string().max(9), Row, Form])), { field: list(200_000, 1) }],
  ['a list within one form of a union', at(z.union([z.string().max(9), Form])), { field: { id: 'x', tags: list(200_000, 1) } }],
  ['lists of lists, none of them too long', at(z.array(Row).max(1_000)), { field: list(500, list(1_000, 1)) }],
  ['lists of forms, all of them wrong', at(z.array(z.union([Form, Row])).max(100_000)), { field: list(100_000, {}) }],
  ['a record of 20,000 names', at(z.record(z.string().max(64), Row).check(maxKeys(1_000))), { field: names(20_000, []) }],
  [
    'a record of lists, none of them too long',
    at(z.record(z.string().max(64), Row).check(maxKeys(1_000))),
    { field: names(500, list(1_000, 1)) },
  ],
  ['20,000 unknown names', params('agent.execute'), { message: 'x', ...names(20_000, 1) }],
  ['a text of a million characters', at(z.string().max(9)), { field: 'x'.repeat(1_000_000) }],
];

describe('rejecting oversized input costs no more than parsing it', () => {
  for (const [name, schema, value] of hostile) {
    test(name, () => {
      const text = JSON.stringify(value);
      const came: unknown = JSON.parse(text);
      const refuse = () => assert.equal(validate(schema, came).success, false);
      const { reading, refusing } = costs(() => JSON.parse(text), refuse);
      assert.ok(refusing < FACTOR * reading, `${refusing.toFixed(2)} ms to refuse what was read in ${reading.toFixed(2)} ms`);
    });
  }
});

test('the error names the field, the expected and the received value', () => {
  const { error } = validate(params('tokens.create'), { id: 'x', scopes: list(520_000, 1) });
  assert.deepEqual(
    error?.issues.map(({ code, path }) => [code, path]),
    [['too_big', ['scopes']]],
  );
});
