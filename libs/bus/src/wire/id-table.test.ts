import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createIdTable } from './id-table.ts';

describe('id table', () => {
  test('behaves like a Map under random additions and removals', () => {
    const step = fc.oneof(fc.constant('add'), fc.record({ remove: fc.nat() }), fc.record({ get: fc.nat() }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
        const slots = createIdTable<{ n: number }>();
        const model = new Map<number, { n: number }>();
        let last = 0;
        for (const [n, one] of steps.entries()) {
          if (one === 'add') {
            const item = { n };
            const id = slots.add(item);
            assert.ok(id > last, 'numbers rise');
            last = id;
            model.set(id, item);
          } else if ('remove' in one) {
            const id = one.remove % (last + 2);
            assert.equal(slots.remove(id), model.get(id));
            model.delete(id);
          } else {
            const id = one.get % (last + 2);
            assert.equal(slots.get(id), model.get(id));
          }
          assert.equal(slots.size, model.size);
        }
        assert.deepEqual(new Set(slots.clear()), new Set(model.values()));
        assert.equal(slots.size, 0);
      }),
      { numRuns: 200 },
    );
  });

  test('keeps long-lived items while thousands are added and removed', () => {
    const slots = createIdTable<{ n: number }>();
    const staying = Array.from({ length: 1_000 }, (_, n) => slots.add({ n }));
    for (let n = 0; n < 10_000; n++) slots.remove(slots.add({ n: -1 }));
    assert.deepEqual(
      staying.map((id) => slots.get(id)?.n),
      staying.map((_, n) => n),
    );
    assert.equal(slots.get(0), undefined);
    assert.equal(slots.get(Number.NaN), undefined);
  });
});
