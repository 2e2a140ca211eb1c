import assert from 'node:assert/strict';
import { test } from 'node:test';
import { continueTrace, parseTraceparent } from './trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test('continues a trace with its sampled flag', () => {
  for (const flags of ['00', '01']) {
    const header = `00-${TRACE}-${SPAN}-${flags}`;
    assert.deepEqual(continueTrace(header), { traceId: TRACE, spanId: SPAN, sampled: flags === '01', traceparent: header });
  }
});

test('reads headers of later versions', () => {
  assert.equal(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what-comes-later`)?.traceparent, `00-${TRACE}-${SPAN}-01`);
});

test('starts a new unsampled trace for an invalid header while tracing is off', () => {
  const bad = [
    undefined,
    '',
    7,
    ['a'],
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\r\n`,
  ];
  const seen = new Set<string>();
  for (const header of bad) {
    assert.equal(parseTraceparent(header), undefined);
    const trace = continueTrace(header);
    assert.match(trace.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    seen.add(trace.traceId);
  }
  assert.equal(seen.size, bad.length);
});
