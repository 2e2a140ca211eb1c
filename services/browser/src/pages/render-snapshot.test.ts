import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderSnapshot, type AriaNode } from './render-snapshot.ts';

const options = { passwords: new Set<string>(), assignRef: (ref: string) => ref };
const PAGE: AriaNode[] = [
  {
    role: 'generic',
    children: [
      {
        role: 'paragraph',
        children: ['Choose', { role: 'strong', text: 'wisely' }, 'from', { role: 'link', name: 'this list', ref: 'e1' }, '.'],
      },
      { role: 'paragraph', text: 'Second' },
      {
        role: 'list',
        children: [
          { role: 'listitem', children: [{ role: 'link', name: 'One', ref: 'e2' }] },
          { role: 'listitem', children: ['Two', { role: 'button', name: 'Buy', ref: 'e3' }] },
        ],
      },
      { role: 'strong', cursor: 'pointer', ref: 'e4', text: 'Styled' },
    ],
  },
];

test('renders texts of one block in a line, and keeps every target with its reference', () => {
  const { lines, refs } = renderSnapshot(PAGE, options);
  assert.deepEqual(lines, [
    '- Choose wisely from',
    '- link "this list" [ref=e1]',
    '- Second',
    '- list',
    ' - link "One" [ref=e2]',
    ' - listitem',
    '  - Two',
    '  - button "Buy" [ref=e3]',
    '- strong [ref=e4]: Styled',
  ]);
  assert.deepEqual(Object.keys(refs), ['e1', 'e2', 'e3', 'e4']);
});

test('interactive keeps the targets only', () => {
  const { lines } = renderSnapshot(PAGE, { ...options, interactive: true });
  assert.deepEqual(lines, ['- link "this list" [ref=e1]', '- link "One" [ref=e2]', '- button "Buy" [ref=e3]', '- strong [ref=e4]: Styled']);
});
