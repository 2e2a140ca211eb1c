import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { mergeChange } from './merge-change.ts';
import { keyedBy } from './keyed-list.ts';
import { createMergeSchema } from './patch.ts';

const Entry = z.strictObject({
  id: z.string().optional(),
  match: z.strictObject({ path: z.string().optional() }).optional(),
  agentId: z.string().optional(),
});
const schema = z.strictObject({
  hooks: z.strictObject({ mappings: z.array(Entry).default([]), names: z.array(z.string()).default([]) }).prefault({}),
  entries: z
    .record(z.string(), z.strictObject({ models: z.array(z.strictObject({ id: z.string(), cost: z.number() })).default([]) }))
    .default({}),
});
const present = {
  hooks: { mappings: [{ id: 'a', agentId: 'oslo', match: { path: 'x' } }, { agentId: 'rome' }, { id: 'b' }], names: ['n'] },
  entries: { lab: { models: [{ id: 'one', cost: 1 }] } },
};

const merge = (change: object) => mergeChange(schema, present, change as Record<string, unknown>);

test('one entry of a list is changed by its id; the other entries and fields stay', () => {
  assert.deepEqual(merge({ hooks: { mappings: [{ id: 'a', match: { path: 'y' } }, { id: 'c' }] } }).change, {
    hooks: { mappings: [{ id: 'a', agentId: 'oslo', match: { path: 'y' } }, { agentId: 'rome' }, { id: 'b' }, { id: 'c' }] },
  });
  assert.deepEqual(merge({ entries: { lab: { models: [{ id: 'two', cost: 2 }] } } }).change, {
    entries: {
      lab: {
        models: [
          { id: 'one', cost: 1 },
          { id: 'two', cost: 2 },
        ],
      },
    },
  });
});

test('null removes a field of an entry, and names other keys to remove', () => {
  assert.deepEqual(merge({ hooks: { mappings: [{ id: 'a', agentId: null, match: { path: null } }] } }).change, {
    hooks: { mappings: [{ id: 'a', match: {} }, { agentId: 'rome' }, { id: 'b' }] },
  });
  assert.deepEqual(merge({ hooks: { mappings: null }, entries: { lab: null } }), {
    change: { hooks: {}, entries: {} },
    removed: [
      ['hooks', 'mappings'],
      ['entries', 'lab'],
    ],
    copied: [],
  });
});

test('other lists, and lists with an entry without an id, are replaced', () => {
  assert.deepEqual(merge({ hooks: { names: [] } }).change, { hooks: { names: [] } });
  const mappings = [{ id: 'a' }, { agentId: 'bern' }];
  assert.deepEqual(merge({ hooks: { mappings } }).change, { hooks: { mappings } });
});

test('the schema of such a change accepts parts of entries with an id, and null', () => {
  const change = createMergeSchema(schema);
  for (const accepted of [
    { entries: { lab: { models: [{ id: 'one' }] } } },
    { entries: { lab: null } },
    { hooks: { mappings: [{ id: 'a', agentId: null }] } },
    { hooks: { mappings: [{ agentId: 'bern' }] } },
  ])
    assert.ok(change.safeParse(accepted).success, JSON.stringify(accepted));
  for (const refused of [{ hooks: { mappings: [{ id: 'a', color: 1 }] } }, { hooks: { mappings: [{ id: null }] } }])
    assert.ok(!change.safeParse(refused).success, JSON.stringify(refused));
});

test('a name with a dot is one name of a removed path', () => {
  assert.deepEqual(merge({ entries: { 'lab.1': null } }).removed, [['entries', 'lab.1']]);
});

const Server = z.strictObject({ name: z.string(), url: z.string(), headers: z.record(z.string(), z.string()).optional() });
const keyed = z.strictObject({ servers: keyedBy('name', z.array(Server).max(9)).default([]) });
const servers = {
  servers: [
    { name: 'a', url: 'u', headers: { 'x.key': 's', b: 't' } },
    { name: 'b', url: 'v' },
  ],
};

test('a list is merged by the key that its schema declares', () => {
  const { change, copied } = mergeChange(keyed, servers, {
    servers: [
      { name: 'a', headers: { 'x.key': null } },
      { name: 'c', url: 'w' },
    ],
  });
  assert.deepEqual(change, {
    servers: [
      { name: 'a', url: 'u', headers: { b: 't' } },
      { name: 'b', url: 'v' },
      { name: 'c', url: 'w' },
    ],
  });
  assert.deepEqual(copied, [
    { path: ['servers'], key: 'a', part: { url: 'u', headers: { b: 't' } } },
    { path: ['servers'], key: 'b', part: { url: 'v' } },
  ]);
  assert.ok(createMergeSchema(keyed).safeParse({ servers: [{ name: 'a' }] }).success);
  assert.ok(!createMergeSchema(keyed).safeParse({ servers: [{ name: null }] }).success);
});

test('a list that names one key twice replaces the present list', () => {
  const twice = {
    servers: [
      { name: 'a', url: '1' },
      { name: 'a', url: '2' },
    ],
  };
  assert.deepEqual(mergeChange(keyed, servers, twice).change, twice);
});
