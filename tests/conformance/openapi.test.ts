import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { startEmbedded, type Running } from '../e2e/embedded.ts';

interface Operation {
  operationId: string;
  tags: string[];
  security?: object[];
  parameters?: { name: string; in: string; required: boolean }[];
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

interface Document {
  openapi: string;
  servers: { url: string }[];
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: object;
}

let product: Running;
let document: Document;
before(async () => {
  product = await startEmbedded();
  document = (await (await read('/openapi.json')).json()) as Document;
});
after(() => product[Symbol.asyncDispose]());

const read = (path: string, token = product.token) =>
  fetch(product.url + path, { headers: { authorization: `Bearer ${token}` }, redirect: 'manual' });

const operations = (): { verb: string; path: string; operation: Operation }[] =>
  Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => {
      return { verb, path, operation };
    }),
  );

test('/openapi.json is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  assert.deepEqual(await validator.validate({ ...structuredClone(document) }), { valid: true });
  assert.equal(validator.version, '3.1');
  const wrong = { ...structuredClone(document), paths: { '/a': { get: { responses: 'none' } } } };
  assert.equal((await new Validator().validate(wrong)).valid, false, 'a validator that accepts anything');
});

test('each operation has a unique id and a described tag', () => {
  const names = operations().map(({ operation }) => operation.operationId);
  assert.equal(new Set(names).size, names.length);
  const tags = new Set(document.tags.map(({ name }) => name));
  for (const { path, operation } of operations())
    assert.ok(operation.tags.every((tag) => tags.has(tag)) && operation.tags.length > 0, path);
});

test('the document names its server', () => {
  assert.deepEqual(
    document.servers.map(({ url }) => url),
    [product.url],
  );
});

test('GET routes without parameters answer as documented', async () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const plain = operations().filter(({ verb, path, operation: { parameters = [], responses } }) => {
    const streams = responses['200']?.content?.['text/event-stream'] !== undefined;
    return verb === 'get' && !path.includes('{') && !streams && !parameters.some(({ required }) => required);
  });
  assert.ok(plain.length >= 12, `${plain.length} of them`);
  for (const { path, operation } of plain) {
    const response = await read(path);
    const message = operation.responses[response.status];
    assert.ok(message, `${path} answers ${response.status}, which is not written`);
    const [type, { schema = {} } = {}] = Object.entries(message.content ?? {})[0] ?? [];
    assert.equal(response.headers.get('content-type')?.split(';')[0], type, path);
    if (type !== 'application/json') continue;
    const isSo = ajv.compile({ ...schema, components: document.components });
    assert.ok(isSo(await response.json()), `${path}: ${ajv.errorsText(isSo.errors)}`);
  }
});

test('exactly the routes without authentication are documented as such', async () => {
  for (const { verb, path, operation } of operations()) {
    const target = path.replaceAll(/\{\w+\}/g, 'x');
    const { status } = await fetch(product.url + target, { method: verb.toUpperCase() });
    assert.equal(status === 401, operation.security?.length !== 0, `${verb} ${path} answers ${status}`);
  }
});

test('/llms.txt lists the documents, all routes and the served methods', async () => {
  const response = await read('/llms.txt');
  const text = await response.text();
  assert.match(text, /^# Switchyard\n\n> /);
  for (const { path } of operations()) assert.ok(text.includes(path) || text.includes(path.replace(/\{\w+\}/, '*')), path);
  assert.ok(text.includes(`${product.url}/openapi.json`) && text.includes('- `agent.execute` (scope rpc): '));
  assert.ok(!text.includes('`channels.list`'), 'nobody serves it yet');
});
