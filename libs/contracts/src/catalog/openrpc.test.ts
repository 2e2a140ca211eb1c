import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { z } from 'zod';
import { unserved } from './unserved-methods.ts';
import { inputSchema } from '../definition/json-schema.ts';
import { DISCOVER, hoist, buildOpenRpcDocument } from './openrpc.ts';
import { eventServices, publicMethods, type MethodName } from './contracts.ts';

const document = buildOpenRpcDocument({ url: 'http://127.0.0.1:4766/rpc', version: '0.1.0' });

const load = createRequire(import.meta.url);
const { openrpcDocument: metaSchema } = load('@open-rpc/meta-schema') as { openrpcDocument: object };
const draft7 = load('ajv/dist/refs/json-schema-draft-07.json') as { definitions: object };

/** The meta-schema knows draft 7 by another address, spelled in two ways, and reaches into it once. */
function validator() {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const JSONSchemaObject = { properties: { $ref: { type: 'string' } } };
  for (const $id of ['https://meta.json-schema.tools', 'https://meta.json-schema.tools/']) {
    ajv.addSchema({ ...draft7, $id, definitions: { ...draft7.definitions, JSONSchemaObject } });
  }
  return ajv.compile({ ...metaSchema, $schema: 'http://json-schema.org/draft-07/schema#' });
}

test('the document is valid OpenRPC', () => {
  const valid = validator();
  assert.equal(valid(document), true, JSON.stringify(valid.errors?.slice(0, 3)));
  const [first] = document.methods;
  assert.equal(valid({ ...document, methods: [{ ...first, params: [{ name: 'x' }] }] }), false, 'a validator that accepts anything');
  assert.equal(valid({ ...document, methods: [{ ...first, params: [{ name: 'x', schema: { type: 'text' } }] }] }), false);
});

test('every public method is in it once, and the document itself', () => {
  assert.deepEqual(
    document.methods.map(({ name }) => name),
    [...publicMethods.keys(), DISCOVER].sort(),
  );
});

test('a method shows its params, scope, owner and examples', () => {
  const create = document.methods.find(({ name }) => name === 'tokens.create');
  assert.deepEqual(
    create?.params.map(({ name, required }) => [name, required]),
    [
      ['id', true],
      ['scopes', true],
      ['sessions', false],
      ['lenient', false],
      ['budgets', false],
      ['agents', false],
      ['expiresAt', false],
      ['ttlMs', false],
      ['tenant', false],
      ['mcpClient', false],
    ],
  );
  assert.equal(create?.['x-scope'], 'admin');
  assert.equal(create?.['x-service'], 'secrets');
  assert.equal(create?.errors[0]?.message, "Insufficient scope: requires 'admin'");
});

test('additions to the interface are marked', () => {
  const marked = document.methods.filter((method) => method['x-beyond']).map(({ name }) => name);
  const declared = [...publicMethods.values()].filter(({ spec }) => 'beyond' in spec).map(({ name }) => name);
  assert.ok(marked.includes('skills.list') && !marked.includes('agent.execute'));
  assert.deepEqual(marked, [...declared, DISCOVER].sort());
});

test('every method says which events it causes, all of them known', () => {
  for (const method of document.methods) {
    assert.ok(Array.isArray(method['x-emits']), method.name);
    for (const event of method['x-emits']) assert.ok(eventServices.has(event), `${method.name}: ${event}`);
  }
  const deleted = document.methods.find(({ name }) => name === 'agents.delete');
  assert.deepEqual(deleted?.['x-emits'], ['agent:hot_removed', 'audit:event']);
});

test('every method has an example, made of the params it shows', () => {
  for (const { name, params, examples } of document.methods.filter((each) => each.name !== DISCOVER)) {
    assert.ok(examples.length > 0, `${name} has no example`);
    const shown = new Set(params.map((param) => param.name));
    for (const example of examples) for (const param of example.params) assert.ok(shown.has(param.name), `${name}: ${param.name}`);
  }
});

/** The parts of the document that something in it refers to. */
function referredTo(part: unknown): string[] {
  const text = JSON.stringify(part);
  assert.ok(!text.includes('#/definitions/'), text);
  return [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name);
}

test('every reference inside the document leads somewhere', () => {
  for (const name of referredTo(document)) assert.ok(document.components.schemas[name], name);
});

test('a schema that contains itself is kept beside the methods, under the name of its owner', () => {
  const Tree = z.strictObject({
    get children() {
      return z.array(Tree).max(9);
    },
  });
  const schemas: typeof document.components.schemas = {};
  const names = referredTo(hoist(inputSchema(z.strictObject({ tree: Tree })), 'tree.plant.params', schemas));
  assert.deepEqual([names.length, Object.keys(schemas)], [1, names]);
  assert.deepEqual(referredTo(schemas), names);
  assert.match(names[0] ?? '', /^tree\.plant\.params\./);
});

test('projecting twice gives the same parts, only the server differs', () => {
  const other = buildOpenRpcDocument({ url: 'https://example.org/rpc', version: '0.1.0' });
  assert.equal(other.methods, document.methods);
  assert.equal(other.servers[0]?.url, 'https://example.org/rpc');
});

test('a method that nobody answers yet is marked', () => {
  const { methods } = document;
  for (const { name, 'x-served': served } of methods) assert.equal(served, !unserved.has(name as MethodName), name);
  assert.ok(methods.some((method) => method['x-served']) && methods.some((method) => !method['x-served']));
});
