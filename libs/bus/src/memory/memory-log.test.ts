import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createMemoryLog, MAX_BYTES } from './memory-log.ts';

test('removes the oldest messages of a full log', () => {
  const log = createMemoryLog({ subjects: ['turn.*'], maxAgeMs: 60_000 });
  const mebibyte = Buffer.alloc(1024 * 1024);
  for (let n = 0; n < 100; n++) log.append({ subject: 'turn.a', data: mebibyte });
  const keptItems = log.read('turn.a');
  assert.ok(keptItems.length >= 15 && keptItems.length <= 16, String(keptItems.length));
  assert.equal(keptItems.at(-1)?.seq, 100);
  assert.equal(keptItems[0]?.seq, 101 - keptItems.length);
});

test('keeps the order of many small messages', () => {
  const log = createMemoryLog({ subjects: ['turn.>'], maxAgeMs: 60_000 });
  const block = Buffer.alloc(8 * 1024);
  for (let n = 1; n <= 20_000; n++) log.append({ subject: `turn.${n % 2}`, data: block });
  const kept = log.read('turn.1');
  assert.ok(kept.every(({ seq }, at) => at === 0 || seq === (kept[at - 1]?.seq ?? 0) + 2));
  assert.equal(kept.at(-1)?.seq, 19_999);
  assert.deepEqual(
    log.read('turn.*', 19_999).map(({ seq }) => seq),
    [19_999, 20_000],
  );
});

test('bounds the memory of many small messages with ids', async () => {
  const before = await usedBytes();
  const log = createMemoryLog({ subjects: ['turn.>'], maxAgeMs: 60_000 });
  for (let n = 0; n < 300_000; n++) log.append({ subject: `turn.${n % 16}.turn_${n}`, data: Buffer.from(`{"n":${n}}`) }, `evt_${n}`);
  const takenCount = (await usedBytes()) - before;
  assert.ok(takenCount > MAX_BYTES / 2 && takenCount < MAX_BYTES * 1.25, `${Math.round(takenCount / 1024)} KiB`);
  assert.ok(log.read('turn.>').length > 30_000);
});

test('does not keep the buffer of the sender alive', async () => {
  const before = await usedBytes();
  const log = createMemoryLog({ subjects: ['turn.>'], maxAgeMs: 60_000 });
  for (let n = 0; n < 1_000; n++) log.append({ subject: 'turn.a', data: Buffer.alloc(65_536, 'x').subarray(0, 10) });
  const taken = (await usedBytes()) - before;
  assert.ok(taken < 1_000_000, `${Math.round(taken / 1024)} KiB`);
  assert.equal(Buffer.from(log.read('turn.a')[999]?.data ?? []).toString(), 'xxxxxxxxxx');
});

test('stores arbitrary bytes', () => {
  const log = createMemoryLog({ subjects: ['turn.a'], maxAgeMs: 60_000 });
  const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
  log.append({ subject: 'turn.a', data: bytes.subarray(1) });
  assert.deepEqual([...(log.read('turn.a')[0]?.data ?? [])], [...bytes.subarray(1)]);
});

test('detects duplicate ids while the message is stored', () => {
  const log = createMemoryLog({ subjects: ['turn.*'], maxAgeMs: 60_000 });
  const { seq } = log.append({ subject: 'turn.a', data: Buffer.from('one') }, 'one');
  assert.deepEqual(log.append({ subject: 'turn.a', data: Buffer.from('one') }, 'one'), { seq, duplicate: true });
  for (let n = 0; n < 40; n++) log.append({ subject: 'turn.b', data: Buffer.alloc(1024 * 1024) });
  assert.equal(log.append({ subject: 'turn.a', data: Buffer.from('one') }, 'one').duplicate, false);
});

test('maxPerSubject limits one subject and keeps the others', async () => {
  const before = await usedBytes();
  const log = createMemoryLog({ subjects: ['turn.*'], maxAgeMs: 60_000, maxPerSubject: 100 });
  log.append({ subject: 'turn.quiet', data: Buffer.from('first') });
  for (let n = 0; n < 300_000; n++) log.append({ subject: 'turn.loud', data: Buffer.from('again') });
  const taken = (await usedBytes()) - before;
  assert.ok(taken < 1_000_000, `${Math.round(taken / 1024)} KiB`);
  assert.deepEqual(
    log.read('turn.*').map(({ seq }) => seq),
    [1, ...Array.from({ length: 100 }, (_, n) => 299_902 + n)],
  );
});

let collect: (() => void) | undefined;

/** Used bytes after garbage collection. */
async function usedBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  collect ??= runInNewContext('gc') as () => void;
  collect();
  // Memory outside the heap is freed a moment later.
  await immediate();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test('a page begins at any message, whatever was removed before it', () => {
  const log = createMemoryLog({ subjects: ['turn.*'], maxAgeMs: 60_000, maxPerSubject: 100 });
  for (let n = 0; n < 1_000; n++) log.append({ subject: n % 10 === 0 ? 'turn.quiet' : 'turn.busy', data: Buffer.from('x') });
  const all = log.read('turn.*').map(({ seq }) => seq);
  assert.equal(all.length, 200);
  for (let from = 0; from <= 1_001; from += 1) {
    const page = log.read('turn.*', from, 5).map(({ seq }) => seq);
    assert.deepEqual(page, all.filter((seq) => seq >= from).slice(0, 5));
  }
  assert.deepEqual(log.position(), { name: log.position().name, firstSeq: 1, seq: 1_000 });
});
