import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { ServiceError } from './errors.ts';
import { maxKeys } from '../values/max-keys.ts';
import { describeIssues, invalidParams, parseParams } from './validation.ts';

function refusal(schema: z.ZodType, value: unknown): ServiceError {
  let thrown: unknown;
  try {
    parseParams(schema, value);
  } catch (error) {
    thrown = error;
  }
  assert.ok(thrown instanceof ServiceError, 'the params were accepted');
  assert.equal(thrown.code, 'INVALID_ARGUMENT');
  return thrown;
}

const says = (schema: z.ZodType, value: unknown, text: string): void =>
  assert.equal(refusal(schema, value).message, `Invalid params: ${text}`);

const Job = z.strictObject({
  name: z.string().min(1),
  schedule: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('cron'), expr: z.string() }),
    z.strictObject({ kind: z.literal('interval'), everyMs: z.int().positive() }),
  ]),
});

describe('the wording of refused params', () => {
  test('says the path, the type expected and the type that came', () => {
    says(z.strictObject({ limit: z.number() }), { limit: 'ten' }, 'limit: expected number, got string');
    says(z.strictObject({ on: z.boolean() }), { on: null }, 'on: expected boolean, got null');
    says(z.strictObject({ tags: z.array(z.string()) }), { tags: {} }, 'tags: expected array, got object');
    says(z.strictObject({ meta: z.record(z.string(), z.unknown()) }), { meta: [] }, 'meta: expected object, got array');
  });

  test('names a missing parameter, whatever its type', () => {
    says(z.strictObject({ agentId: z.string() }), {}, 'agentId: expected string, got nothing');
    says(z.strictObject({ value: z.unknown() }), {}, 'value: expected a value, got nothing');
  });

  test('names the params when the fault has no path', () => {
    says(z.strictObject({}), ['a'], 'params: expected object, got array');
  });

  test('says how many names a record takes', () => {
    const Env = z.strictObject({ env: z.record(z.string(), z.string()).check(maxKeys(1)) });
    says(Env, { env: { a: 'x', b: 'y' } }, 'env: expected object of at most 1 name, got larger object');
  });

  test('names every unknown name, the dangerous ones too', () => {
    says(
      z.strictObject({}),
      { a: 1, b: 2 },
      'a: expected no such parameter, got an unknown name; b: expected no such parameter, got an unknown name',
    );
    says(z.strictObject({}), JSON.parse('{"__proto__": {"admin": true}}'), '__proto__: expected no such parameter, got an unknown name');
    says(z.strictObject({}), { constructor: 1 }, 'constructor: expected no such parameter, got an unknown name');
  });

  test('leads into objects and lists', () => {
    const Graph = z.strictObject({ nodes: z.array(z.strictObject({ task: z.string() })) });
    says(Graph, { nodes: [{ task: 5 }] }, 'nodes.0.task: expected string, got number');
    says(Graph, { nodes: [{ task: 'a', cost: 5 }] }, 'nodes.0.cost: expected no such parameter, got an unknown name');
    says(Job, { name: 'a', schedule: { kind: 'interval', everyMs: '5' } }, 'schedule.everyMs: expected number, got string');
  });

  test('lists what an enum takes', () => {
    const Level = z.strictObject({ level: z.enum(['info', 'warn']) });
    says(Level, { level: 'loud' }, 'level: expected one of "info", "warn", got another string');
    says(Level, { level: 3 }, 'level: expected one of "info", "warn", got another number');
    says(Level, {}, 'level: expected one of "info", "warn", got nothing');
    says(z.strictObject({ sure: z.literal(true) }), { sure: false }, 'sure: expected true, got another boolean');
  });

  test('says ranges in the units of what is measured', () => {
    says(z.strictObject({ id: z.string().min(1) }), { id: '' }, 'id: expected non-empty string, got empty string');
    says(z.strictObject({ id: z.string().min(3) }), { id: 'ab' }, 'id: expected string of at least 3 characters, got shorter string');
    says(z.strictObject({ id: z.string().max(1) }), { id: 'ab' }, 'id: expected string of at most 1 character, got longer string');
    says(z.strictObject({ id: z.string().length(2) }), { id: 'a' }, 'id: expected string of exactly 2 characters, got shorter string');
    says(z.strictObject({ n: z.int().min(1) }), { n: 0 }, 'n: expected number of at least 1, got smaller number');
    says(z.strictObject({ n: z.number().positive() }), { n: 0 }, 'n: expected number above 0, got smaller number');
    says(z.strictObject({ n: z.number().max(2) }), { n: 3 }, 'n: expected number of at most 2, got larger number');
    says(z.strictObject({ all: z.array(z.int()).min(2) }), { all: [1] }, 'all: expected array of at least 2 items, got shorter array');
    says(z.strictObject({ n: z.number().multipleOf(5) }), { n: 7 }, 'n: expected a multiple of 5, got number');
  });

  test('tells a fraction from an integer', () => {
    says(z.strictObject({ n: z.int() }), { n: 1.5 }, 'n: expected integer, got fractional number');
    says(z.strictObject({ n: z.int() }), { n: 1e300 }, `n: expected integer of at most ${Number.MAX_SAFE_INTEGER}, got larger number`);
  });

  test('shows the shape a text must have', () => {
    says(z.strictObject({ id: z.string().regex(/^[a-z]+$/) }), { id: 'A' }, 'id: expected string matching /^[a-z]+$/, got another string');
    says(z.strictObject({ at: z.url() }), { at: 'nowhere' }, 'at: expected url string, got another string');
    says(z.strictObject({ at: z.string().startsWith('/') }), { at: 'x' }, 'at: expected string starting with "/", got another string');
  });

  test('says when a name is refused, not what it names', () => {
    says(
      z.strictObject({ agents: z.record(z.string().regex(/^[a-z]+$/), z.int()) }),
      { agents: { A: 1 } },
      'agents.A: expected a name that is a string matching /^[a-z]+$/, got another string',
    );
  });
});

describe('unions', () => {
  const Address = z.strictObject({ session: z.union([z.string().min(1), z.strictObject({ userId: z.string() })]) });

  test('asks for the discriminator', () => {
    says(Job, { name: 'a', schedule: { kind: 'daily' } }, 'schedule.kind: expected one of "cron", "interval", got another string');
    says(Job, { name: 'a', schedule: {} }, 'schedule.kind: expected one of "cron", "interval", got nothing');
  });

  test('explains the one form that was meant', () => {
    says(Address, { session: { userId: 7 } }, 'session.userId: expected string, got number');
    says(Address, { session: '' }, 'session: expected non-empty string, got empty string');
  });

  test('says how many there may be where every list of them is shorter', () => {
    const Buttons = z.union([z.array(z.string()).max(2), z.array(z.array(z.string())).max(2)]);
    says(
      z.strictObject({ buttons: Buttons }),
      { buttons: ['a', 'b', 'c'] },
      'buttons: expected array of at most 2 items, got longer array',
    );
  });

  test('lists the forms when none was meant', () => {
    says(Address, { session: 7 }, 'session: expected string or object, got number');
  });

  test('does not guess between several', () => {
    const Either = z.strictObject({ to: z.union([z.strictObject({ a: z.int() }), z.strictObject({ b: z.int() })]) });
    says(Either, { to: { c: 1 } }, 'to: expected one of the accepted forms, got object');
  });
});

describe('rules of a method’s own', () => {
  test('are said in their own words', () => {
    const Explain = z
      .strictObject({ a: z.string().optional(), b: z.string().optional() })
      .refine(({ a, b }) => a !== undefined || b !== undefined, { error: 'a or b', params: { received: 'neither' } });
    says(Explain, {}, 'params: expected a or b, got neither');
    says(z.strictObject({ a: z.string().refine((text) => text === 'x') }), { a: 'y' }, 'a: expected a valid value, got string');
  });
});

describe('error details', () => {
  test('the same issues for machines', () => {
    assert.deepEqual(refusal(z.strictObject({ limit: z.number() }), { limit: 'ten' }).details.issues, [
      { path: 'limit', expected: 'number', received: 'string', message: 'limit: expected number, got string' },
    ]);
  });

  test('ten issues, however many there are', () => {
    const Numbers = z.strictObject({ all: z.array(z.number()) });
    assert.equal(refusal(Numbers, { all: Array.from({ length: 200 }, () => 'x') }).details.issues?.length, 10);
    const strangers = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`x${at}`, at]));
    assert.equal(refusal(z.strictObject({}), strangers).details.issues?.length, 10);
  });

  test('the first issue alone where much came', () => {
    const Numbers = z.strictObject({ all: z.array(z.number()), name: z.string() });
    says(Numbers, { all: Array.from({ length: 500 }, () => 'x') }, 'all.0: expected number, got string');
  });

  test('never the value', () => {
    const SECRET = 'hunter2hunter2';
    const schemas = [
      z.number(),
      z.string().max(3),
      z.string().regex(/^\d+$/),
      z.enum(['a', 'b']),
      z.literal('a'),
      z.url(),
      z.union([z.number(), z.strictObject({})]),
      z.string().refine(() => false),
      z.record(z.string(), z.number()),
    ];
    for (const schema of schemas) {
      const { message, details } = refusal(z.strictObject({ value: schema }), { value: SECRET });
      assert.doesNotMatch(message + JSON.stringify(details), /hunter2/);
    }
  });

  test('names of a bounded length', () => {
    const { message } = refusal(z.strictObject({}), { ['x'.repeat(100_000)]: 1 });
    assert.ok(message.length < 200, message);
  });

  test('no guess at the kind where the input was not kept', () => {
    const parsed = z.strictObject({ n: z.number() }).safeParse({ n: 'x' });
    assert.ok(parsed.error);
    assert.equal(invalidParams(describeIssues(parsed.error)).message, 'Invalid params: n: expected number, got another value');
  });
});

test('valid params come back with their defaults', () => {
  assert.deepEqual(parseParams(z.strictObject({ limit: z.int().default(10) }), {}), { limit: 10 });
});
