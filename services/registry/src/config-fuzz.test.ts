import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_BUCKET, Configuration, createPatchSchema, SECTION_NAMES, sections, ServiceError } from '@switchyard/contracts';
import { principal, testService } from '@switchyard/testkit';
import fc from 'fast-check';
import type { z } from 'zod';
import { registry } from './service.ts';

const DOCUMENTS = Number(process.env['SWITCHYARD_TEST_DOCUMENTS'] ?? 1_000);
/** Number of versions that are kept and listed. */
const KEPT = 1_000;
/** The only error codes that an invalid write may return. */
const REFUSALS: ReadonlySet<string> = new Set(['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'NOT_FOUND', 'OUT_OF_RANGE']);

type Def = z.core.$ZodTypes['_zod']['def'];

const junk = fc.oneof(
  { weight: 4, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      '[REDACTED]',
      '${HOME}',
      '${}',
      1e308,
      -0,
      Number.MAX_SAFE_INTEGER + 2,
      '\u0000',
      '\ud800',
      'x'.repeat(9_000),
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('{"__proto__":{"a":1}}', '{"constructor":{"prototype":{"a":1}}}', '[[[[[[[[{}]]]]]]]]')
      .map((text) => JSON.parse(text) as unknown),
  },
);
const names = fc.oneof(
  fc.constantFrom('default', 'oslo', 'local', 'irc', 'constructor', '__proto__', 'a.b', ''),
  fc.string({ maxLength: 8 }),
);

/** Mostly valid values of this schema, sometimes arbitrary ones. */
function like(schema: z.core.$ZodType): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 30, arbitrary: resolved(schema) }, { weight: 1, arbitrary: junk });
}

function resolved(schema: z.core.$ZodType): fc.Arbitrary<unknown> {
  const def = schema._zod.def as Def;
  switch (def.type) {
    case 'object': {
      const parts = Object.entries(def.shape as z.core.$ZodShape).map(([name, inner]) => [name, like(inner)] as const);
      return fc.record(Object.fromEntries(parts), { requiredKeys: [] });
    }
    case 'record':
      return fc.array(fc.tuple(names, like(def.valueType)), { maxLength: 2 }).map((entries) => Object.fromEntries(entries));
    case 'array':
      return fc.array(like(def.element), { maxLength: 2 });
    case 'union':
      return fc.oneof(...def.options.map(resolved));
    case 'enum':
    case 'literal':
      return fc.constantFrom(...(schema._zod.values ?? ['']));
    case 'boolean':
      return fc.boolean();
    case 'number':
      return fc.oneof(fc.nat(100), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
    case 'string':
      return fc.oneof(fc.string(), fc.constantFrom('http://127.0.0.1:1', '10m', '/hooks', '22:00', 'h'.repeat(40)));
    default:
      return 'innerType' in def ? resolved(def.innerType) : junk;
  }
}

/** One or two sections: a document with all sections would almost always be rejected. */
const documents = fc
  .subarray([...SECTION_NAMES], { minLength: 1, maxLength: 2 })
  .chain((chosen) => fc.record(Object.fromEntries(chosen.map((name) => [name, like(createPatchSchema(sections[name]))]))));

type Method = 'config.patch' | 'config.apply' | 'config.set';

test('answers every write, and every accepted configuration is valid', { timeout: 240_000 + DOCUMENTS * 100 }, async () => {
  await using app = await testService(registry, { as: principal({ scopes: ['*'] }) });
  const taken: Record<string, number> = {};

  async function write(method: Method, document: object, dryRun: boolean): Promise<void> {
    const [section = '', value] = Object.entries(document)[0] ?? [];
    const [key = '', inner] = Object.entries(Object(value) as object)[0] ?? [];
    const params = method === 'config.set' ? { section, key, value: inner as unknown, dryRun } : { ...document, dryRun };
    try {
      const answer = await app.bus.call(method, params);
      const outcome = 'dryRun' in answer ? 'checked' : 'written';
      taken[outcome] = (taken[outcome] ?? 0) + 1;
    } catch (error) {
      assert.ok(error instanceof ServiceError, String(error));
      assert.ok(REFUSALS.has(error.code), `${method} ${JSON.stringify(params)} answers ${error.code}: ${error.message}`);
      taken[error.code] = (taken[error.code] ?? 0) + 1;
    }
  }

  const methods = fc.constantFrom<Method>('config.patch', 'config.apply', 'config.set');
  await fc.assert(
    fc.asyncProperty(methods, documents, fc.boolean(), (method, document, dryRun) => write(method, document, dryRun)),
    { numRuns: DOCUMENTS, seed: 14 },
  );

  const { entries } = await app.bus.call('config.history', { limit: KEPT });
  const written = (taken['written'] ?? 0) + 1;
  assert.equal(entries.length, Math.min(written, KEPT), JSON.stringify(taken));
  assert.deepEqual(
    entries.slice(0, -1).map(({ parent }) => parent),
    entries.slice(1).map(({ sha }) => sha),
  );
  if (written <= KEPT) assert.equal(entries.at(-1)?.parent, undefined);
  for (const kind of ['written', 'checked', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'])
    assert.ok((taken[kind] ?? 0) > 10, `${kind}: ${JSON.stringify(taken)}`);
  assert.ok(Configuration.safeParse(JSON.parse(JSON.stringify(app.host.settings.current))).success);
  assert.equal(app.host.settings.refusal, undefined);
  assert.equal(((await (await app.bus.kv(CONFIG_BUCKET)).get('head'))?.revision ?? 0) > 0, true);
  assert.equal(({} as { a?: unknown }).a, undefined);
});
