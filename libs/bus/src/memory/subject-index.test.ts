import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createSubjectIndex, createSubjectMatcher } from './subject-index.ts';

/** Reference implementation: compares token by token. */
function falls(subject: string, pattern: string): boolean {
  const [tokens, expectedItems] = [subject.split('.'), pattern.split('.')];
  const open = expectedItems.at(-1) === '>';
  if (open) expectedItems.pop();
  if (open ? tokens.length <= expectedItems.length : tokens.length !== expectedItems.length) return false;
  return expectedItems.every((token, at) => token === '*' || token === tokens[at]);
}

const tokens = fc.array(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 4 });
const patterns = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', 'ab', '*'), { maxLength: 4 }), fc.boolean())
  .map(([wanted, open]) => (open || wanted.length === 0 ? [...wanted, '>'] : wanted));

test('createSubjectMatcher agrees with a token-by-token comparison', () => {
  fc.assert(
    fc.property(tokens, patterns, (subject, pattern) => {
      const [text, form] = [subject.join('.'), pattern.join('.')];
      assert.equal(createSubjectMatcher(form)(text), falls(text, form), `${text} against ${form}`);
    }),
    { numRuns: 2_000 },
  );
});

test('routes a message to the current subscribers only', () => {
  const steps = fc.array(fc.record({ form: patterns.map((wanted) => wanted.join('.')), comes: fc.boolean() }), { maxLength: 20 });
  fc.assert(
    fc.property(steps, fc.array(tokens, { minLength: 1 }), (changes, subjects) => {
      const index = createSubjectIndex<string>();
      const there = new Set<string>();
      for (const { form, comes } of changes) {
        if (comes === there.has(form)) continue;
        if (comes) index.add(form, form, undefined);
        else index.remove(form, form, undefined);
        if (comes) there.add(form);
        else there.delete(form);
        for (const subject of subjects.map((text) => text.join('.'))) {
          const receivedMessages: string[] = [];
          const told = index.route(subject, (listener) => receivedMessages.push(listener));
          const due = [...there].filter((one) => falls(subject, one));
          assert.deepEqual(receivedMessages.toSorted(), due.toSorted(), subject);
          assert.equal(told, due.length > 0);
        }
      }
    }),
    { numRuns: 1_000 },
  );
});
