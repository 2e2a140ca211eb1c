import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createToolCallBuilder } from './call-builder.ts';

interface Piece {
  index?: number | null;
  id?: string | null;
  name?: string;
  args?: string;
}

/** Builds the calls of deltas, and returns their names and arguments. All ids must differ. */
function build(...deltas: Piece[][]): [string, string][] {
  const builder = createToolCallBuilder();
  for (const delta of deltas) builder.add(delta.map(({ name, args, ...rest }) => ({ ...rest, function: { name, arguments: args } })));
  const calls = builder.build();
  assert.equal(new Set(calls.map(({ callId }) => callId)).size, calls.length);
  return calls.map(({ name, text }) => [name, text]);
}

const TWO: [string, string][] = [
  ['find', '{"q":1}'],
  ['open', '{"p":2}'],
];
const find = { name: 'find', args: '{"q":' };
const open = { name: 'open', args: '{"p":' };

test('keeps calls apart whose fragments have no index', () => {
  assert.deepEqual(build([{ ...find, id: 'a' }], [{ args: '1}' }], [{ ...open, id: 'b' }], [{ args: '2}' }]), TWO);
  assert.deepEqual(build([{ ...find, id: 'a' }], [{ ...open, id: 'b' }], [{ id: 'a', args: '1}' }], [{ id: 'b', args: '2}' }]), TWO);
  assert.deepEqual(
    build(
      [
        { ...find, index: null, id: null },
        { ...open, index: null, id: null },
      ],
      [{ args: '1}' }, { args: '2}' }],
    ),
    TWO,
  );
});

test('keeps calls apart whose fragments have neither index nor id', () => {
  assert.deepEqual(build([find], [{ args: '1}' }], [open], [{ args: '2}' }]), TWO);
  assert.deepEqual(build([{ name: 'find', args: '{"q":1}' }], [{ name: 'find', args: '{"q":2}' }]), [
    ['find', '{"q":1}'],
    ['find', '{"q":2}'],
  ]);
  assert.deepEqual(build([{ name: 'ping' }, { name: 'ping' }]), [
    ['ping', ''],
    ['ping', ''],
  ]);
});

test('keeps calls apart that have the same index or the same id', () => {
  const [one, other] = [
    { name: 'find', args: '{"q":1}' },
    { name: 'open', args: '{"p":2}' },
  ];
  assert.deepEqual(build([{ ...one, index: 0 }], [{ ...other, index: 0 }]), TWO);
  assert.deepEqual(build([{ ...one, index: 0, id: 'x' }], [{ ...other, index: 1, id: 'x' }]), TWO);
  assert.deepEqual(build([{ ...one, id: 'x' }], [{ ...other, id: 'x' }]), TWO);
});

test('joins fragments that repeat name and id', () => {
  const whole: [string, string][] = [['find', '{"q":1}']];
  assert.deepEqual(build([{ ...find, index: 0, id: 'a' }], [{ index: 0, id: 'a', name: 'find', args: '1}' }]), whole);
  assert.deepEqual(build([{ ...find, index: 0 }], [{ index: 0, name: 'find', args: '1}' }], [{ index: 0, name: 'find' }]), whole);
});
