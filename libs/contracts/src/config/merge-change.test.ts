import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { mergeChange } from './merge-change.ts';
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
    removed: ['hooks.mappings', 'entries.lab'],
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
