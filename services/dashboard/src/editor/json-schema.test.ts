import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inputSchema, sections } from '@switchyard/contracts';
import { describeField, type Field } from './json-schema.ts';
import type { Tree } from './merge-patch.ts';

test('describes each kind of value', () => {
  const root = { definitions: { Port: { type: 'integer', minimum: 1, maximum: 9 } } };
  const kind = (schema: Tree): Field['kind'] => describeField(root, schema).kind;
  assert.deepEqual(
    [
      { type: 'boolean' },
      { type: 'string' },
      { type: 'string', enum: ['a', 'b'] },
      { $ref: '#/definitions/Port' },
      { anyOf: [{ type: 'number' }, { type: 'null' }] },
      { type: 'object', properties: { a: { type: 'string' } } },
      { type: 'object', additionalProperties: { type: 'string' } },
      { type: 'array', items: { type: 'string' } },
      { anyOf: [{ type: 'number' }, { type: 'string' }] },
    ].map(kind),
    ['boolean', 'string', 'enum', 'number', 'number', 'object', 'json', 'json', 'json'],
  );
  assert.equal(describeField(root, { $ref: '#/definitions/Port', description: 'a port' }).description, 'a port');
});

test('ends at a reference to itself', () => {
  const root = { definitions: { Loop: { $ref: '#/definitions/Loop' } } };
  assert.equal(describeField(root, { $ref: '#/definitions/Loop' }).kind, 'json');
});

test('describes every key of every section of the configuration', () => {
  const visit = (root: Tree, schema: Tree): number => {
    const { kind, properties } = describeField(root, schema);
    return kind === 'object' ? Object.values(properties).reduce((sum, inner) => sum + visit(root, inner), 0) : 1;
  };
  let count = 0;
  for (const section of Object.values(sections)) {
    const schema = inputSchema(section) as Tree;
    count += visit(schema, schema);
  }
  assert.ok(count > 300, String(count));
});
