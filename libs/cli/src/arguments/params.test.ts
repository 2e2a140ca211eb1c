import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publicMethods, type MethodSpec } from '@switchyard/contracts';
import { readParams, writeParams } from './params.ts';

/** What the shell makes of a quoted word. */
function unquoted(word: string): string {
  return word.startsWith("'") ? word.slice(1, -1).replaceAll(`'\\''`, "'") : word;
}

test('a value is JSON where it parses as JSON, else a string', () => {
  assert.deepEqual(
    { ...readParams(undefined, ['a=1', 'b=true', 'c=null', 'd=[1,"x"]', 'e=hello world', 'f=', 'g="1"', 'h=a=b', 'i={"j":1}']) },
    { a: 1, b: true, c: null, d: [1, 'x'], e: 'hello world', f: '', g: '1', h: 'a=b', i: { j: 1 } },
  );
});

test('dots make objects, also beside --params', () => {
  const params = readParams('{"message":"hi","sessionKey":{"channelId":"c"}}', ['sessionKey.userId=alice', 'x.y.z=1']);
  assert.deepEqual(JSON.parse(JSON.stringify(params)), {
    message: 'hi',
    sessionKey: { channelId: 'c', userId: 'alice' },
    x: { y: { z: 1 } },
  });
});

test('what would be lost or cannot be meant is refused as wrong usage', () => {
  const wrong: [string | undefined, string[], RegExp][] = [
    [undefined, ['message'], /^message is no key=value/],
    [undefined, ['=x'], /no key=value/],
    [undefined, ['a=1', 'a=2'], /^a is given twice/],
    [undefined, ['a=1', 'a.b=2'], /^a\.b is given twice/],
    [undefined, ['a.b=2', 'a=1'], /^a is given twice/],
    ['{"a":1}', ['a=1'], /^a is given twice/],
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

test('__proto__ is sent as the key that was typed, for the server to refuse', () => {
  assert.equal(JSON.stringify(readParams(undefined, ['__proto__.polluted=1'])), '{"__proto__":{"polluted":1}}');
  assert.equal(JSON.stringify(readParams('{"__proto__":1}', [])), '{"__proto__":1}');
  assert.equal('polluted' in {}, false);
});

test('every example of every method can be typed and arrives as it was', () => {
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
