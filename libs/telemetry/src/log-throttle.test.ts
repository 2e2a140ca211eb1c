import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogThrottle, type LogGroup } from './log-throttle.ts';

interface Drop {
  kind: string;
}

function collect() {
  const written: LogGroup<Drop>[] = [];
  return { written, throttle: createLogThrottle<Drop>({ getKind: ({ kind }) => kind, write: (group) => void written.push(group) }) };
}

test('writes few entries one by one and groups many by kind, at most 100 ids per line', () => {
  const { written, throttle } = collect();
  for (let n = 0; n < 1_000; n++) throttle.log({ kind: n % 2 === 0 ? 'even' : 'odd' }, String(n));
  throttle[Symbol.dispose]();
  assert.deepEqual(new Set(written.flatMap(({ ids }) => [...ids])), new Set(Array.from({ length: 1_000 }, (_, n) => String(n))));
  assert.ok(written.length <= 52, `${written.length} lines`); // the test may span two periods
  for (const { first, ids, count } of written) {
    assert.ok(ids.size <= 100 && count === ids.size);
    assert.ok([...ids].every((id) => (Number(id) % 2 === 0 ? 'even' : 'odd') === first.kind));
  }
});

test('counts repeated ids', () => {
  const { written, throttle } = collect();
  for (let n = 0; n < 300; n++) throttle.log({ kind: 'one' }, 'same');
  throttle[Symbol.dispose]();
  assert.equal(
    written.reduce((sum, { count }) => sum + count, 0),
    300,
  );
});

test('holds back at most 100 kinds', () => {
  const { written, throttle } = collect();
  for (let n = 0; n < 1_000; n++) throttle.log({ kind: String(n) }, String(n));
  assert.ok(written.length > 850, `${written.length} lines`);
  throttle[Symbol.dispose]();
  assert.equal(written.length, 1_000);
});
