import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReasoningFilter } from './reasoning.ts';

function output(text: string, finalOnly = false): string {
  const whole = createReasoningFilter(finalOnly);
  const answer = whole.push(text) + whole.end();
  for (let size = 1; size <= 7; size += 1) {
    const pieces = createReasoningFilter(finalOnly);
    const parts = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
    assert.equal(parts.map((part) => pieces.push(part)).join('') + pieces.end(), answer, `in pieces of ${size}`);
  }
  return answer;
}

test('removes reasoning tags with their content', () => {
  assert.equal(output('<think>hm, 2 < 3</think>\n\nThree.'), 'Three.');
  for (const name of ['think', 'thinking', 'Thought', 'REASONING']) assert.equal(output(`a <${name}>b</${name}> c`), 'a c');
  assert.equal(output('one <think>a<thinking>b</think> two'), 'one two', 'nested tags are removed as well');
  assert.equal(output('an answer <think>and no end'), 'an answer ', 'an unclosed tag removes the rest');
});

test('keeps other text and unknown tags', () => {
  for (const text of ['2 < 3 <b>bold</b> <thin', '  leading', '<final>kept</final>', 'a ` b `` c', 'ends with </think> alone']) {
    assert.equal(output(text), text);
  }
  const code = 'So:\n```html\n<think>shown</think>\n```\nand';
  assert.equal(output(`${code}<think>x</think> on`), `${code}on`, 'code blocks are kept');
});

test('finalOnly keeps only the final answer', () => {
  assert.equal(output('Let me see. <final> Four. </final> Done.', true), 'Four. ');
  assert.equal(output('<think><final>no</final></think><final>yes</final>', true), 'yes');
  assert.equal(output('never said', true), '');
});
