import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { ConfigurationPatch, sections } from '../config/sections.ts';
import { inputSchema, outputSchema, type JsonSchema } from './json-schema.ts';
import { maxKeys } from '../values/max-keys.ts';
import { buildOpenRpcDocument } from '../catalog/openrpc.ts';
import { callables } from '../catalog/contracts.ts';

const DRAFT_7 = new Set(
  'date-time date time email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri iri-reference uri-template json-pointer relative-json-pointer regex'.split(
    ' ',
  ),
);
/** The members of these keywords are values, not schemas. */
const VALUES = new Set(['default', 'const', 'enum', 'examples']);

/** Every format in a document, with where it stands. A property may be called `format`: that one is a schema. */
function* formats(node: unknown, path = ''): Generator<string> {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    if (key === 'format' && typeof value === 'string' && !DRAFT_7.has(value)) yield `${path}: ${value}`;
    if (!VALUES.has(key)) yield* formats(value, `${path}/${key}`);
  }
}

test('a format that draft 7 does not know is found, however deep', () => {
  const schema = { properties: { format: { items: [{ format: 'jwt' }, { format: 'uri' }] }, x: { default: { format: 'opus' } } } };
  assert.deepEqual([...formats(schema)], ['/properties/format/items/0: jwt']);
});

test('every published schema keeps to the formats of draft 7', () => {
  for (const { name, spec } of callables.values()) {
    assert.deepEqual([...formats(inputSchema(spec.params)), ...formats(outputSchema(spec.result))], [], name);
  }
  for (const schema of [ConfigurationPatch, ...Object.values(sections)]) assert.deepEqual([...formats(inputSchema(schema))], []);
});

test('so does the whole OpenRPC document', () => {
  const document = buildOpenRpcDocument({ url: 'http://127.0.0.1:4766/rpc', version: '0.1.0' });
  assert.ok(document.methods.length > 0);
  assert.deepEqual([...formats(document)], []);
});

test('a prefix, an encoding and the like are patterns', () => {
  const shape = { at: z.string().startsWith('/'), bytes: z.base64(), id: z.jwt(), site: z.url(), when: z.iso.date() };
  const { properties = {} } = inputSchema(z.strictObject(shape));
  const says = (name: string): JsonSchema => properties[name] ?? {};
  assert.deepEqual(
    Object.keys(shape).map((name) => says(name)['format']),
    [undefined, undefined, undefined, 'uri', 'date'],
  );
  assert.equal(says('at')['pattern'], String.raw`^\/.*`);
  assert.match(String(says('bytes')['pattern']), /A-Z/);
});

test('a record says how many names it takes', () => {
  const Record = z.record(z.string().max(9), z.int()).check(maxKeys(7));
  const expected = {
    type: 'object',
    propertyNames: { type: 'string', maxLength: 9 },
    additionalProperties: { type: 'integer' },
    maxProperties: 7,
  };
  assert.deepEqual(inputSchema(Record), expected);
  assert.deepEqual(inputSchema(z.strictObject({ r: Record.optional().describe('x') })).properties, {
    r: { ...expected, description: 'x' },
  });
});
