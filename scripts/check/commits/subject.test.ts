import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSubjectFault } from './subject.ts';

test('findSubjectFault accepts imperative Conventional Commits', () => {
  for (const subject of [
    'fix(gateway): return 503 while draining',
    'refactor(sessions): move the queue into a folder of its subject',
    'feat!: drop the legacy token format',
    'perf(bus): flush outgoing messages every 64',
    'test(models): embed the recorded stream',
    'fix(store): pass the write concern to the driver',
  ])
    assert.equal(findSubjectFault(subject), undefined, subject);
});

test('findSubjectFault rejects long, untyped, descriptive and unreadable subjects', () => {
  const cases: [subject: string, fault: RegExp][] = [
    [`fix(gateway): return ${'x'.repeat(80)}`, /at most 72/],
    ['return 503 while draining', /Conventional Commit/],
    ['fix(gateway): returns 503 while draining', /not imperative/],
    ['fix(gateway): returned 503 while draining', /not imperative/],
    ['fix(gateway): a connection ends with its answer', /not an imperative verb/],
    ['perf(registry): what changes seldom is written once', /not an imperative verb/],
    ['fix(bus): tell whoever asked, and nobody else, of what is left', /hard to read/],
  ];
  for (const [subject, fault] of cases) assert.match(findSubjectFault(subject) ?? '', fault, subject);
});
