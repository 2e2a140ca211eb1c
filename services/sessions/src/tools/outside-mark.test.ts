import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasOutsideMark } from './outside-mark.ts';

test('finds the marks of messages and memories at any depth, and none in text', () => {
  for (const marked of [
    { outside: true },
    { messages: [{ content: 'a' }, { content: 'b', outside: true }] },
    { entries: [{ entry: { content: 'a', trustLevel: 'external' } }] },
  ])
    assert.equal(hasOutsideMark(marked), true, JSON.stringify(marked));
  for (const unmarked of ['{"outside":true}', null, 7, { outside: 'no' }, { trustLevel: 'learned', content: '"outside": true' }, []])
    assert.equal(hasOutsideMark(unmarked), false, JSON.stringify(unmarked));
});
