import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CompletionReader } from './completion-reader.ts';
import { createPlainChunks } from './plain-chunks.ts';

/** What an upstream may send; chunks of one shape come often, so that there is something to remember. */
const SHAPES: readonly ((text: string) => string)[] = [
  (content) => JSON.stringify({ id: 'a', model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] }),
  (content) => JSON.stringify({ id: 'a', model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content } }], usage: null }),
  (content) => `{"choices": [{"delta": {"content": ${JSON.stringify(content)}}}]}`,
  (content) => JSON.stringify({ choices: [{ delta: { reasoning_content: content, content: 'b' } }] }),
  (content) => JSON.stringify({ choices: [{ delta: { content } }], usage: { prompt_tokens: content.length } }),
  (content) => JSON.stringify({ choices: [{ delta: { content }, finish_reason: 'stop' }] }),
  (content) => JSON.stringify({ choices: [{ delta: {} }, { delta: { content } }] }),
  (content) => `{"choices":[{"delta":{"content":${JSON.stringify(content)},"cont\\u0065nt":"a"}}]}`,
  (content) => `{"choices":[{"delta":{"content":"a","content":${JSON.stringify(content)}}}]}`,
  (content) => `{"choices":[{"delta":{"content":"${content}"}}]}`,
  (content) => JSON.stringify({ choices: [{ delta: { content: 'a' } }], model: content }),
  (content) =>
    JSON.stringify({ choices: [{ delta: { tool_calls: [{ index: 0, id: content, function: { name: 'f', arguments: content } }] } }] }),
  (content) => JSON.stringify({ choices: [{ delta: { content } }], error: { message: content } }),
  (content) => content,
];

/** One reader for all, or one for each: whoever has read nothing remembers nothing. */
function heard(chunks: readonly string[], next: () => CompletionReader): unknown[] {
  return chunks.map((chunk) => {
    const reader = next();
    try {
      reader.chunk(chunk);
      const { finish, calls } = reader.ending();
      return { pieces: reader.take(), done: reader.done, finish, calls: calls.length > 0 };
    } catch (error) {
      return String(error);
    }
  });
}

const piece = fc.oneof(
  fc.constantFrom('a', 'b', ' sea', '', '"', '\\', '\n', '\\u0061', '"}', '","content":"', 'é😀', '\u2028'),
  fc.string({ unit: 'binary', maxLength: 8 }),
);

test('what is remembered of a chunk never changes what the next one says', () => {
  const chunk = fc.tuple(fc.constantFrom(...SHAPES), piece).map(([shape, text]) => shape(text));
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 30 }), (chunks) => {
      const alone = heard(chunks, () => new CompletionReader());
      // The end of a stream and what it says of its end stay with a reader: chunks that say so are the last.
      const last = alone.findIndex(
        (said) => typeof said === 'string' || Object.values(said as object).some((one) => one === true || one === 'stop'),
      );
      const all = last === -1 ? chunks : chunks.slice(0, last + 1);
      const one = new CompletionReader();
      assert.deepEqual(
        heard(all, () => one),
        alone.slice(0, all.length),
      );
    }),
    { numRuns: 500 },
  );
});

test('chunks of one shape are told by their text; one that has to be read is read', () => {
  const plain = createPlainChunks();
  const shape = SHAPES[0] as (text: string) => string;
  assert.equal(plain.textOf(shape('one')), undefined);
  plain.learn(shape('one'), 'one');
  assert.equal(plain.textOf(shape('two ')), 'two ');
  assert.equal(plain.textOf(shape('')), '');
  for (const text of ['"', '\\', '\n', '\u0001']) assert.equal(plain.textOf(shape(text)), undefined);
  assert.equal(plain.textOf(shape('two ').replace('"a"', '"b"')), undefined);
});

test('an upstream whose chunks differ in more than their text is not looked at for ever', () => {
  const plain = createPlainChunks();
  const padded = (text: string, padding: string): string => JSON.stringify({ choices: [{ delta: { content: text } }], padding });
  for (let at = 0; at < 10; at++) plain.learn(padded('x', String(at)), 'x');
  assert.equal(plain.textOf(padded('y', '9')), undefined);
});
