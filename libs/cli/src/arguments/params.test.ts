import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publicMethods, type MethodSpec } from '@switchyard/contracts';
import { readParams, writeParams } from './params.ts';

/** Unquotes a word as the shell does. */
function unquoted(word: string): string {
  return word.startsWith("'") ? word.slice(1, -1).replaceAll(`'\\''`, "'") : word;
}

test('parses values as JSON, else as strings', () => {
  assert.deepEqual(
    { ...readParams(undefined, ['a=1', 'b=true', 'c=null', 'd=[1,"x"]', 'e=hello world', 'f=', 'g="1"', 'h=a=b', 'i={"j":1}']) },
    { a: 1, b: true, c: null, d: [1, 'x'], e: 'hello world', f: '', g: '1', h: 'a=b', i: { j: 1 } },
  );
});

test('creates nested objects from dots, also with --params', () => {
  const params = readParams('{"message":"hi","sessionKey":{"channelId":"c"}}', ['sessionKey.userId=alice', 'x.y.z=1']);
  assert.deepEqual(JSON.parse(JSON.stringify(params)), {
    message: 'hi',
    sessionKey: { channelId: 'c', userId: 'alice' },
    x: { y: { z: 1 } },
  });
});

test('rejects duplicate and malformed params', () => {
  const wrong: [string | undefined, string[], RegExp][] = [
    [undefined, ['message'], /^message is not of the form key=value/],
    [undefined, ['=x'], /not of the form key=value/],
    [undefined, ['a=1', 'a=2'], /^a is set twice/],
    [undefined, ['a=1', 'a.b=2'], /^a\.b is set twice/],
    [undefined, ['a.b=2', 'a=1'], /^a is set twice/],
    ['{"a":1}', ['a=1'], /^a is set twice/],
    [undefined, ['a..b=1'], /empty name/],
    [undefined, ['.a=1'], /empty name/],
    ['[1]', [], /must be a JSON object/],
    ['{', [], /must be a JSON object/],
  ];
  for (const [json, words, sentence] of wrong) {
    assert.throws(
      () => readParams(json, words),
      (error: Error & { exitCode?: number }) => error.exitCode === 2 && sentence.test(error.message),
    );
  }
});

test('passes __proto__ as an ordinary key', () => {
  assert.equal(JSON.stringify(readParams(undefined, ['__proto__.polluted=1'])), '{"__proto__":{"polluted":1}}');
  assert.equal(JSON.stringify(readParams('{"__proto__":1}', [])), '{"__proto__":1}');
  assert.equal('polluted' in {}, false);
});

test('renders and parses every example of every method', () => {
  let seen = 0;
  for (const [name, { spec }] of publicMethods) {
    for (const { params } of (spec as MethodSpec).examples) {
      const typed = writeParams(params as Record<string, unknown>).map(unquoted);
      assert.deepEqual(JSON.parse(JSON.stringify(readParams(undefined, typed))), JSON.parse(JSON.stringify(params)), name);
      seen += 1;
    }
  }
  assert.ok(seen > 150, `only ${seen} examples`);
});
