import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFlood, type Together } from './log-throttle.ts';

interface Drop {
  kind: string;
}

function collect() {
  const written: Together<Drop>[] = [];
  return { written, flood: createFlood<Drop>({ getKind: ({ kind }) => kind, write: (together) => void written.push(together) }) };
}

test('writes few entries one by one and groups many by kind, at most 100 ids per line', () => {
  const { written, flood } = collect();
  for (let n = 0; n < 1_000; n++) flood.note({ kind: n % 2 === 0 ? 'even' : 'odd' }, String(n));
  flood[Symbol.dispose]();
  assert.deepEqual(new Set(written.flatMap(({ ids }) => [...ids])), new Set(Array.from({ length: 1_000 }, (_, n) => String(n))));
  assert.ok(written.length <= 52, `${written.length} lines`); // the test may span two periods
  for (const { first, ids, count } of written) {
    assert.ok(ids.size <= 100 && count === ids.size);
    assert.ok([...ids].every((id) => (Number(id) % 2 === 0 ? 'even' : 'odd') === first.kind));
  }
});

test('counts repeated ids', () => {
  const { written, flood } = collect();
  for (let n = 0; n < 300; n++) flood.note({ kind: 'one' }, 'same');
  flood[Symbol.dispose]();
  assert.equal(
    written.reduce((sum, { count }) => sum + count, 0),
    300,
  );
});

test('holds back at most 100 kinds', () => {
  const { written, flood } = collect();
  for (let n = 0; n < 1_000; n++) flood.note({ kind: String(n) }, String(n));
  assert.ok(written.length > 850, `${written.length} lines`);
  flood[Symbol.dispose]();
  assert.equal(written.length, 1_000);
});
