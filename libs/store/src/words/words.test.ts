import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildIndexText } from './index-text.ts';
import { parseQuery } from './query-words.ts';
import { createTextMatcher } from './text-matcher.ts';
import { splitPieces } from './text-pieces.ts';

function locate(text: string, query: string): string {
  const steps = createTextMatcher(query).locate(text);
  for (;;) {
    const step = steps.next();
    if (step.done) return text.slice(step.value, step.value + 20);
  }
}

test('buildIndexText folds words, splits identifiers and pairs characters of unspaced scripts', () => {
  const texts = {
    'The Café, Йогурт: ΟΔΟΣ': 'the cafe иогурт οδοσ',
    'userName user_name HTTPServer2 __init__ _': '# username user name # username user name # httpserver2 http server2 init',
    'REST-API 3.14 gpt4o': 'rest api 3 14 # gpt4o',
    '東京都へ行く abc': '東京 京都 都へ へ行 行く く abc',
    'か\u3099 猫\u{e0100}犬': 'が 猫犬 犬',
    'हिन्दी \u200d 💥': 'हिन्दी',
    '½ ŀa': '1 2 l a',
  };
  for (const [text, expected] of Object.entries(texts)) assert.equal(buildIndexText(text), expected);
});

test('buildIndexText truncates encoded data', () => {
  assert.ok(buildIndexText('aGVsbG8gd29ybGQ'.repeat(10_000)).length < 1_000);
  assert.equal(buildIndexText('a'.repeat(10_000)).length, 64);
});

test('parseQuery drops stop words, particles and repetitions and returns at most the given number of words', () => {
  const parse = (query: string, max = 10): string[] => parseQuery(query, max).map(({ text }) => text);
  assert.deepEqual(parse('the harbour of THE Harbour'), ['harbour']);
  assert.deepEqual(parse('私は猫が好き'), ['私は猫が好き', '私', '猫', '好き']);
  assert.deepEqual(parse('我爱北京'), ['我爱北京', '我爱', '北京']);
  assert.deepEqual(parse('one two three four', 2), ['one', 'two']);
  assert.deepEqual(parse('" * - 💥'), []);
});

test('locate finds the section with most words of the query', () => {
  const far = 'lorem ipsum '.repeat(500);
  assert.match(locate(`harbour ${far} the harbour master answers ${far}`, 'harbour master'), /^harbour master/);
  assert.match(locate(`${far} ${'の'.repeat(30)}展望室は無料`, '展望室'), /^展望室/);
  assert.match(locate(`${far} ${'a'.repeat(9_000)} Йогурт`, 'иогурт'), /^Йогурт/);
  assert.match(locate(`${far} the getUserName method`, 'user'), /^getUserName/);
  assert.equal(locate(far, 'zeppelin'), far.slice(0, 20));
});

test('splitPieces cuts at spaces, and repeats the end of a piece without spaces', () => {
  const words = 'word '.repeat(1_000);
  assert.ok([...splitPieces(words, 512)].every(({ start, text }) => words.startsWith(text, start) && !/^ord|wor$/.test(text)));
  const [first, second] = splitPieces('x'.repeat(1_000), 512);
  assert.deepEqual([first?.text.length, second?.start], [512, 448]);
});

test('buildIndexText does not expand a character that would grow more than fourfold', () => {
  assert.equal(buildIndexText('\ufdfa'.repeat(3)), '\ufdfa'.repeat(3));
});
