import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extractParagraphs } from './extract.ts';
import { measureProse, ratePer100 } from './measure.ts';
import { findProseFaults } from './rules.ts';
import { splitSentences } from './sentences.ts';

test('findProseFaults rejects sentences whose subject is a relative clause', () => {
  const riddles = [
    'What keeps failing is left alone for a while.',
    'Who comes back gets the rest.',
    'Of a large answer no more is fetched than fits.',
    'Where nobody reads along the model is asked for the whole.',
    'So many values are kept.',
  ];
  for (const riddle of riddles) assert.notEqual(findProseFaults(riddle, true).length, 0, riddle);
});

test('findProseFaults accepts plain technical sentences', () => {
  const plain = [
    'Opens after `failureThreshold` consecutive failures.',
    'The lease holder renews every two seconds.',
    'Returns undefined when the key is unknown.',
    'What happens when a replica is killed?',
    'Where possible, the reply subject is reused.',
  ];
  for (const sentence of plain) assert.deepEqual(findProseFaults(sentence, true), [], sentence);
});

test('findProseFaults applies the rule on a leading pronoun to the first sentence only', () => {
  const sentence = 'It says so to whoever is left.';
  assert.ok(findProseFaults(sentence, true).length > findProseFaults(sentence, false).length);
});

test('splitSentences splits at full stops and drops fragments of two words', () => {
  assert.deepEqual(splitSentences('The first one ends here. The [second](x.md) one follows. And so'), [
    'The first one ends here.',
    'The second one follows.',
  ]);
});

test('extractParagraphs reads comments, test titles and messages of a source file', () => {
  const source = [
    '/** Runs a task and\n * returns its result. */',
    'const url = "https://example.com"; // Trailing comment here.',
    'await run();',
    '// First line of two',
    '// and the second line.',
    'test("rejects an empty batch", () => {});',
    'throw new Error(`the batch ${name} is too large`);',
    'const pattern = /\\/\\/ no comment/;',
  ].join('\n');
  const matches = extractParagraphs('libs/x/src/x.ts', source).map(({ kind, text, line }) => [
    kind,
    text.replace(/\s+/g, ' ').trim(),
    line,
  ]);
  assert.deepEqual(matches, [
    ['comments', 'Runs a task and returns its result.', 1],
    ['comments', 'Trailing comment here.', 3],
    ['comments', 'First line of two and the second line.', 5],
    ['titles', 'rejects an empty batch', 7],
    ['messages', 'the batch X is too large', 8],
  ]);
});

test('extractParagraphs reads no messages in test files', () => {
  assert.deepEqual(extractParagraphs('libs/x/src/x.test.ts', 'const text = "four words of text";'), []);
});

test('extractParagraphs reads paragraphs, list items and table cells of a page, and no code', () => {
  const source =
    '# The title\n\nA paragraph\nof two lines.\n\n- an item\n\n| a cell | another cell |\n| --- | --- |\n\n```sh\nmake start\n```\n';
  const texts = extractParagraphs('docs/x.md', source).map(({ text }) => text.replace(/\s+/g, ' ').trim());
  assert.deepEqual(texts.filter(Boolean), ['The title', 'A paragraph of two lines.', 'an item', 'a cell', 'another cell']);
});

test('measureProse counts sentences by kind and reports the unreadable ones with their line', () => {
  const source = '// The caller retries once.\n\n// Who asks again gets the same.\n';
  const { rates, found } = measureProse([{ path: 'libs/x/src/x.ts', source }]);
  assert.deepEqual(rates.comments, { sentences: 2, unreadable: 1 });
  assert.deepEqual(
    found.map(({ line, kind }) => [line, kind]),
    [[3, 'comments']],
  );
});

test('ratePer100 rounds to one decimal and is zero without sentences', () => {
  assert.equal(ratePer100({ sentences: 3, unreadable: 1 }), 33.3);
  assert.equal(ratePer100({ sentences: 0, unreadable: 0 }), 0);
});
