import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AriaNode } from './render-snapshot.ts';
import type { StyledTarget } from '../sessions/styled-targets.ts';
import { placeStyledTargets } from './place-styled-targets.ts';

const target = (text: string, options: Partial<StyledTarget> = {}): StyledTarget => ({
  ref: `styled0:${text}`,
  text,
  before: '',
  isInChildFrame: false,
  ...options,
});
const node = (text: string): AriaNode => ({ role: 'generic', ref: `styled0:${text}`, cursor: 'pointer', text });

test('places targets in the texts that they are part of', () => {
  const tree: AriaNode[] = [
    { role: 'paragraph', text: 'Read more or more of it' },
    { role: 'paragraph', ref: 'e2', children: ['Choose', { role: 'link', name: 'a', ref: 'e3' }, 'or b'] },
  ];
  assert.deepEqual(placeStyledTargets(tree, [target('more', { before: 'Read more\n or ' }), target('b', { before: ' or ' })]), [
    { role: 'paragraph', children: ['Read more or ', node('more'), ' of it'] },
    { role: 'paragraph', ref: 'e2', children: ['Choose', { role: 'link', name: 'a', ref: 'e3' }, 'or ', node('b')] },
  ]);
});

test('places equal texts one after the other, and adds a text that is not found at the end', () => {
  const tree: AriaNode[] = [
    { role: 'heading', name: 'Title' },
    { role: 'generic', text: 'Buy' },
    { role: 'generic', text: 'Buy' },
  ];
  const [first, second] = [target('Buy', { ref: 'styled0:1' }), target('Buy', { ref: 'styled0:2' })];
  assert.deepEqual(placeStyledTargets(tree, [first, second, target('Title')]), [
    { role: 'heading', name: 'Title' },
    { role: 'generic', children: [{ ...node('Buy'), ref: 'styled0:1' }] },
    { role: 'generic', children: [{ ...node('Buy'), ref: 'styled0:2' }] },
    node('Title'),
  ]);
});

test('keeps the value of a text field, and the targets of child frames apart', () => {
  const frame: AriaNode = { role: 'iframe', ref: 'e1', children: [{ role: 'paragraph', text: 'go' }] };
  const field: AriaNode = { role: 'textbox', ref: 'e2', text: 'go' };
  const inFrame = target('go', { ref: 'fstyled1:0', isInChildFrame: true });
  assert.deepEqual(placeStyledTargets([field, frame], [target('go'), inFrame]), [
    field,
    { role: 'iframe', ref: 'e1', children: [{ role: 'paragraph', children: [{ ...node('go'), ref: 'fstyled1:0' }] }] },
    node('go'),
  ]);
});

test('leaves the text of a target of the driver as it is', () => {
  const tree: AriaNode[] = [
    { role: 'generic', ref: 'e1', cursor: 'pointer', text: 'Buy' },
    { role: 'paragraph', text: 'Buy' },
  ];
  const [first, second] = [target('Buy', { ref: 'styled0:1' }), target('Buy', { ref: 'styled0:2' })];
  assert.deepEqual(placeStyledTargets(tree, [first, second]), [
    tree[0],
    { role: 'paragraph', children: [{ ...node('Buy'), ref: 'styled0:2' }] },
  ]);
});
