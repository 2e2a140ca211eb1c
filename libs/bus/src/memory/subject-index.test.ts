import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { subjectMatcher } from './subject-index.ts';

/** The rule itself, token by token. */
function falls(subject: string, pattern: string): boolean {
  const [tokens, wanted] = [subject.split('.'), pattern.split('.')];
  const open = wanted.at(-1) === '>';
  if (open) wanted.pop();
  if (open ? tokens.length <= wanted.length : tokens.length !== wanted.length) return false;
  return wanted.every((token, at) => token === '*' || token === tokens[at]);
}

const tokens = fc.array(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 4 });
const patterns = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', 'ab', '*'), { maxLength: 4 }), fc.boolean())
  .map(([wanted, open]) => (open || wanted.length === 0 ? [...wanted, '>'] : wanted));

test('whatever the form of a pattern, it matches as its tokens do', () => {
  fc.assert(
    fc.property(tokens, patterns, (subject, pattern) => {
      const [text, form] = [subject.join('.'), pattern.join('.')];
      assert.equal(subjectMatcher(form)(text), falls(text, form), `${text} against ${form}`);
    }),
    { numRuns: 2_000 },
  );
});
