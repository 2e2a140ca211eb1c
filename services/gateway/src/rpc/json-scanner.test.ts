import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { damage, parses } from './json.fixture.ts';
import { BROKEN, skipSpace, findValueEnd, type Scan } from './json-scanner.ts';

const newScan = (): Scan => ({ deepest: 0, ascii: true });

/** Whether the whole text is one JSON value. */
function accepts(bytes: Buffer): boolean {
  const scan = newScan();
  const end = findValueEnd(bytes, skipSpace(bytes, 0), 1, scan);
  return end !== BROKEN && skipSpace(bytes, end) === bytes.length && (scan.ascii || isUtf8(bytes));
}

describe('findValueEnd', () => {
  const texts = [
    '0',
    '-0',
    '10',
    '1.50',
    '-1e5',
    '1E+5',
    '1e-05',
    '1e400',
    '0.0e0',
    ' 1 ',
    '	\r\n1\n',
    '',
    '-',
    '+1',
    '01',
    '-01',
    '.5',
    '5.',
    '1.e3',
    '1e',
    '1e+',
    '0x1',
    '1_0',
    'NaN',
    'Infinity',
    '1 2',
    '１',
    'true',
    'false',
    'null',
    'True',
    'tru',
    'truex',
    'nul',
    'nulls',
    'undefined',
    '""',
    '"a',
    '"',
    '"\\"',
    '"\\\\"',
    '"\\x"',
    '"\\u12"',
    '"\\u12G4"',
    '"\\u12ab\\uABCD"',
    '"\\/\\b\\f\\n\\r\\t"',
    '"\\',
    '"\\u',
    '"	"',
    '"\n"',
    '"\0"',
    '""',
    '"\u2028"',
    '"ü"',
    '"😀"',
    "'a'",
    '"a"b',
    '[]',
    '[ ]',
    '[1]',
    '[1,]',
    '[,1]',
    '[1 2]',
    '[1,,2]',
    '[',
    ']',
    '[1',
    '[1}',
    '[[],[]]',
    '[[]',
    '[]]',
    '[1,[2,[3]],{}]',
    '{}',
    '{ }',
    '{"a":1}',
    '{"a" : 1 , "b":[]}',
    '{"a":1,}',
    '{,}',
    '{"a"}',
    '{"a":}',
    '{"a",1}',
    '{a:1}',
    '{1:1}',
    '{"a":1]',
    '{"a":{"a":{}}}',
    '{"a":1}}',
    '{"a":1 "b":2}',
    '{"a"::1}',
    '{"":""}',
    '{"a":1}{}',
    '[{}',
    '{[]}',
    '{"a":[}',
    '[1\xA0]',
    '﻿1',
    '\xA01',
    '/**/1',
    '[1]//',
    '\v1',
    '\f1',
  ];
  for (const text of texts) {
    test(`${JSON.stringify(text)}: ${parses(text) ? 'yes' : 'no'}`, () => {
      assert.equal(accepts(Buffer.from(text)), parses(text));
    });
  }

  test('rejects invalid UTF-8', () => {
    assert.equal(accepts(Buffer.from([0x22, 0xff, 0x22])), false);
    assert.equal(accepts(Buffer.from([0xff])), false);
  });
});

test('counts depth from the start depth and ignores strings', () => {
  const scan = newScan();
  assert.equal(findValueEnd(Buffer.from('[{"a":["[[[["]},[]]'), 0, 5, scan), 19);
  assert.equal(scan.deepest, 7);
});

describe('property', () => {
  const value = fc.json({ maxDepth: 5, stringUnit: 'grapheme' });
  const pieces = [
    '{}[]",:\\ \t\n0123456789.eE+-truefalsnl/ub'.split(''),
    '\u0000',
    'ü',
    '\ud83d\ude00',
    '""',
    '\\u00e4',
    '[]',
    '{}',
  ].flat();

  test('accepts the output of JSON.stringify', () => {
    fc.assert(fc.property(value, (text) => accepts(Buffer.from(text))));
  });

  test('accepts a mutated text exactly when JSON.parse does', () => {
    fc.assert(
      fc.property(value, damage(pieces), (text, damaged) => {
        const bytes = Buffer.from(damaged(text));
        assert.equal(accepts(bytes), parses(bytes.toString()), bytes.toString());
      }),
      { numRuns: 3_000 },
    );
  });
});
