import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findHeader, measureHeaders, formatHeaders, joinHeaders, formatRequestHeaders } from './headers.ts';

const principal = formatHeaders(['Sy-Principal', '["t","c","*",0,0]']);

test('rejects invalid header values', () => {
  for (const value of ['a\r\nSy-Principal: x', 'a\nb', 'a\rb', 'ö', '\u0000']) {
    assert.throws(() => formatHeaders(['Sy-Request', 'fine'], ['Sy-Seq', value]), TypeError, JSON.stringify(value));
  }
});

test('findHeader matches the complete name in header lines and header blocks', () => {
  const lines = joinHeaders(formatHeaders(['Sy-Sequel', '1'], ['Sy-Seq', '2: 3']), formatHeaders(['Sy-Frame', '']));
  for (const text of [lines, `NATS/1.0${lines}\r\n\r\n`]) {
    assert.deepEqual(
      ['Sy-Seq', 'Sy-Sequel', 'Sy-Frame', 'Seq', 'Sy'].map((name) => findHeader(text, name)),
      ['2: 3', '1', '', undefined, undefined],
    );
  }
  assert.equal(measureHeaders(lines), `NATS/1.0${lines}\r\n\r\n`.length);
  assert.equal(measureHeaders(undefined), 0);
  assert.equal(findHeader(undefined, 'Sy-Seq'), undefined);
});

test('omits invalid ids from request headers', () => {
  const head = { principal, timeoutMs: 1.2, requestId: 'req_1', traceparent: '00-1-2-01' };
  const lines = formatRequestHeaders(head, 2);
  assert.deepEqual(
    ['Sy-Principal', 'Sy-Timeout', 'Sy-Request', 'traceparent'].map((name) => findHeader(lines, name)),
    ['["t","c","*",0,0]', '2', 'req_1', '00-1-2-01'],
  );
  assert.equal(findHeader(formatRequestHeaders(head, 1.2), 'Sy-Timeout'), undefined, 'the method has no more anyway');
  for (const bad of ['a\r\nSy-Principal: ["t","c","*",0,0]', 'x'.repeat(257), 'ö']) {
    assert.equal(formatRequestHeaders({ ...head, requestId: bad, traceparent: bad }, 1), principal);
  }
});
