import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CompletionReader } from './completion-reader.ts';
import { createPlainChunks, type PlainChunks } from './plain-chunks.ts';

/** What an upstream may send; chunks of one shape come often, so that there is something to remember. */
const SHAPES: readonly ((text: string) => string)[] = [
  (content) => JSON.stringify({ id: 'a', model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] }),
  (content) => JSON.stringify({ id: 'a', model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content } }], usage: null }),
  (content) => `{"choices": [{"delta": {"content": ${JSON.stringify(content)}}}]}`,
  (content) => JSON.stringify({ choices: [{ delta: { reasoning_content: content, content: 'b' } }] }),
  (content) => JSON.stringify({ choices: [{ delta: { content } }], usage: { prompt_tokens: content.length } }),
  (content) => JSON.stringify({ choices: [{ delta: { content }, finish_reason: 'stop' }] }),
  (content) => JSON.stringify({ choices: [{ delta: { content }, finish_reason: 'length' }], usage: { prompt_tokens: 7 } }),
  (content) => JSON.stringify({ choices: [{ delta: { reasoning_content: 'a', content } }] }),
  (content) => JSON.stringify({ choices: [{ delta: { content, tool_calls: [{ index: 0, id: 'c', function: { arguments: 'a' } }] } }] }),
  (content) => JSON.stringify({ choices: [{ delta: { content } }], x_groq: { usage: { prompt_tokens: 9 } } }),
  (content) => JSON.stringify({ choices: [{ delta: {} }, { delta: { content } }] }),
  (content) => `{"choices":[{"delta":{"content":${JSON.stringify(content)},"cont\\u0065nt":"a"}}]}`,
  (content) => `{"choices":[{"delta":{"content":"a","content":${JSON.stringify(content)}}}]}`,
  (content) => `{"choices":[{"delta":{"content":"${content}"}}]}`,
  (content) => JSON.stringify({ choices: [{ delta: { content: 'a' } }], model: content }),
  (content) =>
    JSON.stringify({
      choices: [{ delta: { tool_calls: [{ index: 0, id: `c${content}`, function: { name: 'f', arguments: content } }] } }],
    }),
  (content) => JSON.stringify({ choices: [{ delta: { content } }], error: { message: content } }),
  (content) => content,
];

/** Remembers nothing. */
const FORGETFUL: PlainChunks = { textOf: () => undefined, learn: () => undefined };

/** All that a reader says of chunks, one after the other. */
function heard(reader: CompletionReader, chunks: readonly string[]): unknown[] {
  return chunks.map((chunk) => {
    try {
      reader.chunk(chunk);
      return { pieces: reader.take(), done: reader.done, ending: reader.ending() };
    } catch (error) {
      return String(error);
    }
  });
}

/** Mostly such as are told as they were written. */
const piece = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'b', ' sea') },
  fc.constantFrom('', '"', '\\', '\n', '\\u0061', '"}', '","content":"', 'é😀', '\u2028'),
  fc.string({ unit: 'binary', maxLength: 8 }),
);

test('what is remembered of a chunk never changes what the next one says', () => {
  // Few shapes in a stream: only what comes again can be taken for what was read.
  const stream = fc
    .uniqueArray(fc.constantFrom(...SHAPES), { minLength: 1, maxLength: 3 })
    .chain((shapes) => fc.array(fc.tuple(fc.constantFrom(...shapes), piece), { maxLength: 12 }));
  fc.assert(
    fc.property(stream, (said) => {
      const chunks = said.map(([shape, text]) => shape(text));
      assert.deepEqual(heard(new CompletionReader(), chunks), heard(new CompletionReader(FORGETFUL), chunks));
    }),
    { numRuns: 1_000 },
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

test('nothing is remembered of a chunk that says more than its text, or whose text stands twice', () => {
  const plain = createPlainChunks();
  const twice = (text: string): string => `{"choices":[{"delta":{"content":"${text}","content":"a"}}]}`;
  plain.learn(twice('a'), 'a');
  assert.equal(plain.textOf(twice('b')), undefined);

  const ends = (text: string, finish: string): string => JSON.stringify({ choices: [{ delta: { content: text }, finish_reason: finish }] });
  const reader = new CompletionReader();
  for (const chunk of [ends('a', 'stop'), ends('b', 'length'), ends('c', 'stop')]) reader.chunk(chunk);
  assert.equal(reader.ending().finish, 'stop');
  const again = new CompletionReader();
  for (const chunk of [ends('a', 'stop'), JSON.stringify({ choices: [{ finish_reason: 'length' }] }), ends('c', 'stop')])
    again.chunk(chunk);
  assert.equal(again.ending().finish, 'stop');
});
