import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { writtenText } from './completion-relay.ts';

const frame = (n: number, text: string): Buffer => Buffer.from(JSON.stringify({ n, type: 'delta', text }));

test('of a piece that is told as it was written nothing is lost, whatever it says', () => {
  fc.assert(
    fc.property(fc.nat(), fc.string({ unit: 'binary' }), (n, text) => {
      const written = writtenText(frame(n, text));
      if (text.includes('"')) assert.equal(written, undefined);
      else assert.equal(JSON.parse(`"${written}"`), JSON.parse(JSON.stringify(text)));
    }),
  );
});

test('whatever is not a piece in its plainest spelling is read', () => {
  const others = [
    '',
    '{"n":1}',
    '{"n":1,"type":"step","step":1}',
    '{"n":1,"type":"delta","text":"a","more":"b"}',
    '{"n":1,"type":"delta","text":"a","more":1}',
    '{"n":1,"more":"x","type":"delta","text":"a"}',
    '{ "n":1,"type":"delta","text":"a"}',
    '{"n":1,"type":"delta","text":"a"} ',
    '{"n":1,"type":"delta","text":"a"',
    '{"n":1,"type":"delta","text":',
    '{"n":1,"type":"delta","text":"',
    '{"n":1,"type":"delta","text":"}',
    '{"type":"delta","n":1,"text":"a"}',
    '{"m":1,"type":"delta","text":"a"}',
    '{"n":1,"type":"delta","text":"a"]',
    '{"n":1,"type":"tool","text":"a","x":"{\\"n\\":1,\\"type\\":\\"delta\\",\\"text\\":\\"a\\"}"}',
  ];
  for (const text of others) assert.equal(writtenText(Buffer.from(text)), undefined, text);
  assert.equal(writtenText(new Uint8Array(frame(12, 'plain'))), 'plain');
  assert.equal(writtenText(frame(0, '')), '');
});
