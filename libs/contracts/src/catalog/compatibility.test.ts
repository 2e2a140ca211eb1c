import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { z } from 'zod';
import { findBreakingChanges } from './compatibility-schema.ts';
import {
  createSnapshot,
  mergeLocks,
  findNarrowings,
  serializeLock,
  splitByService,
  findStaleEntries,
  type ContractsLock,
} from './compatibility.ts';
import { inputSchema, outputSchema } from '../definition/json-schema.ts';
import { maxKeys } from '../values/max-keys.ts';

const params = (before: z.ZodType, after: z.ZodType) => findBreakingChanges(inputSchema(before), inputSchema(after), 'params');
const result = (before: z.ZodType, after: z.ZodType) => findBreakingChanges(outputSchema(before), outputSchema(after), 'result');
const lock = (methods: ContractsLock['methods']): ContractsLock => ({ methods, operations: {}, events: {} });
const { strictObject, object, string, number, int, array, record, union, literal, boolean } = z;

test('params may not get narrower', () => {
  const cases: [z.ZodType, z.ZodType, string][] = [
    [strictObject({ a: string(), b: string().optional() }), strictObject({ a: string() }), 'b was removed'],
    [strictObject({ a: string().optional() }), strictObject({ a: string() }), 'a became required'],
    [strictObject({}), strictObject({ a: string() }), 'a became required'],
    [strictObject({ a: z.enum(['x', 'y']) }), strictObject({ a: z.enum(['x']) }), 'a no longer accepts "y"'],
    [strictObject({ a: string() }), strictObject({ a: z.enum(['x']) }), 'a changed from any value to only "x"'],
    [strictObject({ a: number() }), strictObject({ a: int() }), 'a changed from type number to type integer'],
    [strictObject({ a: string() }), strictObject({ a: number() }), 'a changed from type string to type number'],
    [strictObject({ a: union([string(), number()]) }), strictObject({ a: string() }), 'a changed from type number to type string'],
    [strictObject({ a: string().nullable() }), strictObject({ a: string() }), 'a changed from type null to type string'],
    [strictObject({ a: string() }), strictObject({ a: string().min(1) }), 'a changed from minLength none to minLength 1'],
    [strictObject({ a: string().max(9) }), strictObject({ a: string().max(8) }), 'a changed from maxLength 9 to maxLength 8'],
    [strictObject({ a: string() }), strictObject({ a: string().regex(/^x/) }), 'a changed from pattern none to pattern "^x"'],
    [strictObject({ a: int().nonnegative() }), strictObject({ a: int().positive() }), 'a changed from minimum 0 to minimum 1'],
    [strictObject({ a: number().max(2) }), strictObject({ a: number().max(1) }), 'a changed from maximum 2 to maximum 1'],
    [strictObject({ a: array(string()) }), strictObject({ a: array(int()) }), 'a[] changed from type string to type integer'],
    [strictObject({ a: array(string()) }), strictObject({ a: array(string()).max(3) }), 'a changed from maxItems none to maxItems 3'],
    [record(string(), string()), record(string(), string().min(1)), '* changed from minLength none to minLength 1'],
    [record(string(), string()), strictObject({}), 'the whole no longer accepts other fields'],
    [strictObject({ a: strictObject({ b: string().optional() }) }), strictObject({ a: strictObject({}) }), 'a.b was removed'],
  ];
  for (const [before, after, sentence] of cases) {
    assert.deepEqual(params(before, after), [sentence]);
  }
});

test('params may get wider', () => {
  const cases: [z.ZodType, z.ZodType][] = [
    [strictObject({ a: string() }), strictObject({ a: string().optional(), b: string().optional() })],
    [strictObject({ a: string() }), strictObject({ a: string().default('x') })],
    [strictObject({ a: z.enum(['x']) }), strictObject({ a: z.enum(['x', 'y']) })],
    [strictObject({ a: z.enum(['x']) }), strictObject({ a: string() })],
    [strictObject({ a: literal('x') }), strictObject({ a: z.enum(['x', 'y']) })],
    [strictObject({ a: int().positive() }), strictObject({ a: number() })],
    [strictObject({ a: int().positive() }), strictObject({ a: int().min(1) })],
    [strictObject({ a: string() }), strictObject({ a: union([string(), strictObject({ b: string() })]) })],
    [strictObject({ a: string().max(8) }), strictObject({ a: string().max(9).nullable() })],
    [strictObject({ a: string() }), record(string(), z.unknown())],
    [strictObject({ a: string().describe('old words') }), strictObject({ a: string().describe('new words') })],
  ];
  for (const [before, after] of cases) assert.deepEqual(params(before, after), []);
});

test('a maximum where there was none is narrower', () => {
  const cases: [z.ZodType, z.ZodType, string][] = [
    [strictObject({ a: string() }), strictObject({ a: string().max(9) }), 'a changed from maxLength none to maxLength 9'],
    [strictObject({ a: array(int()) }), strictObject({ a: array(int()).max(9) }), 'a changed from maxItems none to maxItems 9'],
    [
      strictObject({ a: record(string(), int()) }),
      strictObject({ a: record(string(), int()).check(maxKeys(9)) }),
      'a changed from maxProperties none to maxProperties 9',
    ],
    [
      strictObject({ a: union([string(), strictObject({ b: string(), c: string() })]) }),
      strictObject({ a: union([string(), strictObject({ b: string().max(9), c: string().max(9) })]) }),
      'a.b changed from maxLength none to maxLength 9',
    ],
  ];
  for (const [before, after, sentence] of cases) assert.equal(params(before, after)[0], sentence);
});

test('results may not lose or weaken what was promised', () => {
  const cases: [z.ZodType, z.ZodType, string][] = [
    [object({ a: string() }), object({}), 'a was removed'],
    [object({ a: string().optional() }), object({}), 'a was removed'],
    [object({ a: string() }), object({ a: string().optional() }), 'a is no longer always there'],
    [object({ a: string() }), object({ a: string().nullable() }), 'a changed from type string to type null'],
    [object({ a: int() }), object({ a: number() }), 'a changed from type integer to type number'],
    [object({ a: z.enum(['x']) }), object({ a: string() }), 'a changed from only "x" to any value'],
    [object({ a: literal(true) }), object({ a: boolean() }), 'a changed from only true to any value'],
    [object({ a: array(object({ b: string() })) }), object({ a: array(object({})) }), 'a[].b was removed'],
    [object({ a: int().nonnegative() }), object({ a: int() }), 'a changed from minimum 0 to minimum none'],
  ];
  for (const [before, after, sentence] of cases) assert.deepEqual(result(before, after), [sentence]);
});

test('results may grow: fields, words, kinds of frames, firmer promises', () => {
  const frame = (type: string) => object({ type: literal(type), n: int() });
  const cases: [z.ZodType, z.ZodType][] = [
    [object({ a: string() }), object({ a: string(), b: string() })],
    [object({ a: string().optional() }), object({ a: string() })],
    [object({ a: z.enum(['x']) }), object({ a: z.enum(['x', 'y']) })],
    [object({ a: string() }), object({ a: z.enum(['x']) })],
    [union([frame('delta'), frame('done')]), union([frame('delta'), frame('done'), frame('alive')])],
    [z.unknown(), object({ a: string() })],
  ];
  for (const [before, after] of cases) assert.deepEqual(result(before, after), []);
  const lost = result(union([frame('delta'), frame('done')]), union([frame('delta'), object({ type: literal('done') })]));
  assert.ok(lost.includes('n was removed'), lost.join());
});

test('a schema that contains itself is compared to its end', () => {
  const Tree = object({
    name: string(),
    get children() {
      return array(Tree);
    },
  });
  const Named = object({
    name: string().optional(),
    get children() {
      return array(Named);
    },
  });
  assert.deepEqual(result(Tree, Tree), []);
  assert.ok(result(object({ tree: Tree }), object({ tree: Named })).includes('tree.name is no longer always there'));
});

test('names, scopes, owners, callers and idempotence stay', () => {
  const entry = { service: 'sessions', scope: 'rpc', callers: ['gateway'], idempotent: true };
  const broken = (after: ContractsLock['methods']) => findNarrowings(lock({ 'a.b': entry }), lock(after));
  assert.deepEqual(broken({ 'a.b': entry, 'a.c': entry }), []);
  assert.deepEqual(broken({}), ['a.b is gone']);
  assert.deepEqual(broken({ 'a.b': { ...entry, scope: 'admin' } }), ['a.b asks for scope admin instead of rpc']);
  assert.deepEqual(broken({ 'a.b': { ...entry, service: 'memory' } }), ['a.b moved from sessions to memory']);
  assert.deepEqual(broken({ 'a.b': { ...entry, callers: [] } }), ['a.b is no longer open to gateway']);
  assert.deepEqual(broken({ 'a.b': { ...entry, idempotent: false } }), ['a.b is no longer idempotent']);
});

test('a stale lock says what to do', () => {
  const present = createSnapshot();
  const { 'system.ping': ping, ...rest } = present.methods;
  assert.ok(ping);
  assert.match(findStaleEntries({ ...present, methods: rest }, present) ?? '', /new entries.*make lock/);
  assert.match(findStaleEntries(present, { ...present, methods: rest }) ?? '', /system\.ping is gone\n.*CHANGELOG\.md.*make lock/);
  assert.equal(findStaleEntries(present, createSnapshot()), undefined);
});

test('the snapshots are the present contracts', async () => {
  const folder = new URL('../../snapshots/', import.meta.url);
  const texts = (await readdir(folder)).map((name) => readFile(new URL(name, folder), 'utf8'));
  const kept = mergeLocks((await Promise.all(texts)).map((text) => JSON.parse(text) as ContractsLock));
  const advice = findStaleEntries(kept, createSnapshot());
  assert.equal(advice, undefined, advice);
});

test('mergeLocks restores what splitByService split', () => {
  const present = createSnapshot();
  const parts = splitByService(present);
  assert.equal(parts['gateway']?.methods['system.ping']?.service ?? 'missing', present.methods['system.ping']?.service);
  assert.equal(serializeLock(mergeLocks(Object.values(parts))), serializeLock(present));
});

test('the lock is the same text whatever the order of declaration', () => {
  const present = createSnapshot();
  const reversed = { ...present, methods: Object.fromEntries(Object.entries(present.methods).reverse()) };
  assert.equal(serializeLock(reversed), serializeLock(present));
});
