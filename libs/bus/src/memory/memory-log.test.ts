import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from './memory-log.ts';

test('a log is a ring: when it is full the oldest go', () => {
  const log = createMemoryLog({ subjects: ['turn.*'], maxAgeMs: 60_000 });
  const mebibyte = Buffer.alloc(1024 * 1024);
  for (let n = 0; n < 100; n++) log.keep({ subject: 'turn.a', data: mebibyte });
  const kept = log.read('turn.a');
  assert.ok(kept.length >= 32 && kept.length <= 33, String(kept.length));
  assert.equal(kept.at(-1)?.seq, 100);
  assert.equal(kept[0]?.seq, 101 - kept.length);
});

test('many small messages come and go without losing order', () => {
  const log = createMemoryLog({ subjects: ['turn.>'], maxAgeMs: 60_000 });
  const block = Buffer.alloc(8 * 1024);
  for (let n = 1; n <= 20_000; n++) log.keep({ subject: `turn.${n % 2}`, data: block });
  const kept = log.read('turn.1');
  assert.ok(kept.every(({ seq }, at) => at === 0 || seq === (kept[at - 1]?.seq ?? 0) + 2));
  assert.equal(kept.at(-1)?.seq, 19_999);
  assert.deepEqual(
    log.read('turn.*', 19_999).map(({ seq }) => seq),
    [19_999, 20_000],
  );
});
