import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { DISCOVER, publicMethods } from '@switchyard/contracts';
import { Ajv } from 'ajv';
import { startEmbedded, type Running } from '../e2e/embedded.ts';
import { call, mint } from '../e2e/exchange.ts';

interface Document {
  openrpc: string;
  methods: { name: string; 'x-scope': string }[];
  servers: { url: string }[];
}

const require = createRequire(import.meta.url);
const { openrpcDocument: metaSchema } = require('@open-rpc/meta-schema') as { openrpcDocument: object };
const draft7 = require('ajv/dist/refs/json-schema-draft-07.json') as { definitions: object };

let product: Running;
let document: Document;
before(async () => {
  product = await startEmbedded();
  document = await call<Document>(product, DISCOVER);
});
after(() => product[Symbol.asyncDispose]());

test('rpc.discover returns valid OpenRPC', () => {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  // The meta-schema refers to draft 7 by another address, in two spellings, and to one of its parts.
  const JSONSchemaObject = { properties: { $ref: { type: 'string' } } };
  for (const $id of ['https://meta.json-schema.tools', 'https://meta.json-schema.tools/']) {
    ajv.addSchema({ ...draft7, $id, definitions: { ...draft7.definitions, JSONSchemaObject } });
  }
  const isOpenRpc = ajv.compile({ ...metaSchema, $schema: 'http://json-schema.org/draft-07/schema#' });
  assert.equal(isOpenRpc(document), true, JSON.stringify(isOpenRpc.errors?.slice(0, 3)));
  assert.equal(isOpenRpc({ ...document, methods: [{ name: 'a.b', params: [{ name: 'x' }] }] }), false, 'a validator that accepts anything');
});

test('the document lists every method with its scope, and rpc.discover', () => {
  const listed = document.methods.filter(({ name }) => name !== DISCOVER).map((method) => `${method.name} ${method['x-scope']}`);
  assert.deepEqual(listed.sort(), [...publicMethods.values()].map(({ name, scope }) => `${name} ${scope}`).sort());
  assert.equal(document.methods.length, publicMethods.size + 1);
});

test('the document names its server', () => {
  assert.deepEqual(
    document.servers.map(({ url }) => url),
    [`${product.url}/rpc`],
  );
});

test('GET /openrpc.json is the same document', async () => {
  const response = await fetch(`${product.url}/openrpc.json`, { headers: { authorization: `Bearer ${product.token}` } });
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), document);
});

test('rpc.discover accepts any valid token', async () => {
  assert.equal((await fetch(`${product.url}/openrpc.json`)).status, 401);
  const { secret } = await mint(product, 'mcp-client');
  assert.deepEqual(await call(product, DISCOVER, {}, secret), document);
});
