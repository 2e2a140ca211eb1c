import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX } from '@switchyard/contracts';
import { parseArguments } from './arguments.ts';
import { renderInstructions } from './render-instructions.ts';

const render = (body: string, args = '', maxChars = 20_000): string => renderInstructions(body, { args, maxChars });

test('renderInstructions expands each placeholder', () => {
  for (const [body, args, expected] of [
    ['Fix $ARGUMENTS now', 'the  "big" bug', 'Fix the  "big" bug now'],
    ['$1|$2|$3|$4', `one "two words" 'three "x"'`, 'one|two words|three "x"|'],
    ['$@|${@:2}|${@:9}', 'a  b "c d"', 'a b c d|b c d|'],
    ['$10|$11', '1 2 3 4 5 6 7 8 9 ten', 'ten|'],
    ['{title} by {author}', 'title="A b" author=me', 'A b by me'],
    ['{title}', 'title=a=b title=c', 'c'],
    ['$1', '', ''],
    ['$ARGUMENTS', '', ''],
    ['Costs $0, $100 and $x; {id} stays', '', 'Costs $0, $100 and $x; {id} stays'],
    ['{id} and $1', 'a', '{id} and a'],
    ['{constructor} {__proto__} $1', 'a', '{constructor} {__proto__} a'],
  ] as const)
    assert.equal(render(body, args), expected, `${body} with ${args}`);
});

test('renderInstructions appends arguments to a text without a placeholder for them', () => {
  assert.equal(render('Read.', 'v2'), 'Read.\n\nArguments: v2');
  assert.equal(render('Read {id}.', 'v2'), 'Read {id}.\n\nArguments: v2');
  assert.equal(render('Read.'), 'Read.');
});

test('renderInstructions never expands or changes the arguments', () => {
  assert.equal(render('A $1 B $ARGUMENTS', '$2 {x} x=$1'), 'A $2 B $2 {x} x=$1');
  assert.equal(render('$ARGUMENTS', '$& $` $1 `id` $(id) <!-- x -->'), '$& $` $1 `id` $(id) <!-- x -->');
  assert.equal(render('{a}{b}', 'a={b} b={a}'), '{b}{a}');
});

test('renderInstructions drops HTML comments and invisible characters', () => {
  for (const [body, expected] of [
    ['a<!-- hidden -->b', 'ab'],
    ['a<!-- x\ny --> b <!-- z -->c', 'a b c'],
    ['a <!-- never closed $1', 'a'],
    ['a<!-->b', 'a'],
    ['a<!<!-- x -->-- evil -->b', 'a<! -- evil -->b'],
    ['＜!-- wide --＞b', 'b'],
    ['<!\u200b-- split --\u200b>b', 'b'],
    ['i\u200bg\u00adn\u2060o\ufeffr\u202ee\u{e0041}', 'ignore'],
    ['ﬁne\tand\nkept', 'fine\tand\nkept'],
  ] as const)
    assert.equal(render(body), expected, JSON.stringify(body));
});

test('renderInstructions cuts a long text with a marker, between characters', () => {
  assert.equal(render('x'.repeat(20), '', 20), 'x'.repeat(20));
  assert.equal(render('x'.repeat(21), '', 20), `${'x'.repeat(20)}\n[The skill is longer than 20 characters; the rest is missing.]`);
  assert.equal(render('😀😀', '', 3), '😀\n[The skill is longer than 3 characters; the rest is missing.]');
  assert.match(render('x'.repeat(21), 'Oslo', 20), /is missing\.\]\n\nArguments: Oslo$/, 'the arguments are no part of the limit');
  assert.ok(render('x'.repeat(2 * MAX.text), 'y'.repeat(MAX.text), Infinity).length <= MAX.text);
});

test('renderInstructions bounds what placeholders multiply', () => {
  const args = `a=${'x'.repeat(500_000)} ${'y '.repeat(1_000)}`;
  for (const placeholder of ['$ARGUMENTS ', '$@', '${@:2}', '$1', '{a}'])
    assert.ok(render(placeholder.repeat(300_000), args, 50_000).length < 50_100, placeholder);
});

test('renderInstructions takes linear time for hostile texts', () => {
  for (const unit of ['<!--', '<!-- -->', '{a', '${@:', '$', '\u0301\u0323', '<!<!-- -->--', '{aaaaaaaaaaaaaaaaaaaaaaaaaaaa'])
    assert.ok(render(unit.repeat(4_000_000 / unit.length), unit).length <= 20_200, unit);
});

test('parseArguments splits like a shell, without expansion', () => {
  for (const [text, words] of [
    ['', []],
    ['  a\t b\n', ['a', 'b']],
    [`"a b" 'c d'`, ['a b', 'c d']],
    [`"a\\"b" "c\\\\" 'd\\'`, ['a"b', 'c\\', 'd\\']],
    [`"" ''`, ['', '']],
    [`don't it's`, ["don't", "it's"]],
    [`"open a`, ['"open', 'a']],
    [`k="a b"c`, ['k=a bc']],
    ['C:\\dir $HOME `id` $(id) *', ['C:\\dir', '$HOME', '`id`', '$(id)', '*']],
  ] as const)
    assert.deepEqual(parseArguments(text).words, words, text);
  for (const unit of ['"', "'", '"a ', "'a ", '\\', '"\\" ', `"'`, ' "', '="'])
    assert.ok(parseArguments(unit.repeat(1_000_000 / unit.length)).words.length > 0, unit);
});
