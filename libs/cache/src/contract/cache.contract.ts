import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { MAX_NOTES, MAX_TTL_MS, MAX_VALUE_BYTES, type Board, type Cache, type Key } from '../port/cache.ts';

const MINUTE = 60_000;
/** Tolerance for timers that fire early. */
const EARLY_MS = 2;

/** Contract of a cache. `open` returns an empty one. */
export function cacheContract(name: string, open: () => Promise<Cache>): void {
  const opened = async (t: TestContext): Promise<Cache> => {
    const cache = await open();
    t.after(() => cache.close());
    return cache;
  };

  describe(`windows on ${name}`, () => {
    test('take admits up to the rate and returns the time to wait', async (t) => {
      const cache = await opened(t);
      const rate = { max: 2, windowMs: 1_000 };
      assert.deepEqual([await cache.take(['a'], rate), await cache.take(['a'], rate)], [0, 0]);
      const wait = await cache.take(['a'], rate);
      assert.ok(wait > 0 && wait <= 1_000, `waits ${wait}`);
      assert.equal(await cache.take(['b'], rate), 0, 'another key has its own');
      await delay(wait + EARLY_MS);
      assert.equal(await cache.take(['a'], rate), 0);
    });

    test('take admits several events completely or not at all', async (t) => {
      const cache = await opened(t);
      const rate = { max: 4, windowMs: MINUTE };
      assert.equal(await cache.take(['a'], rate, 3), 0);
      const wait = await cache.take(['a'], rate, 2);
      assert.ok(wait > MINUTE - 5_000 && wait <= MINUTE, `waits ${wait}`);
      assert.equal(await cache.take(['a'], rate, 1), 0, 'the rejected amount is not counted');
      assert.equal(await cache.take(['a'], rate, 5), Number.POSITIVE_INFINITY);
      assert.equal(await cache.take(['a'], { max: 0, windowMs: MINUTE }), Number.POSITIVE_INFINITY);
    });

    test('the window slides', async (t) => {
      const cache = await opened(t);
      const rate = { max: 2, windowMs: 1_000 };
      assert.equal(await cache.take(['a'], rate), 0);
      await delay(500);
      assert.equal(await cache.take(['a'], rate), 0);
      const wait = await cache.take(['a'], rate);
      assert.ok(wait > 0 && wait <= 500, `waits ${wait}`);
      await delay(wait + EARLY_MS);
      assert.equal(await cache.take(['a'], rate), 0);
      assert.ok((await cache.take(['a'], rate)) > 0);
    });

    test('take follows a changed rate', async (t) => {
      const cache = await opened(t);
      assert.equal(await cache.take(['a'], { max: 5, windowMs: MINUTE }, 5), 0);
      assert.ok((await cache.take(['a'], { max: 5, windowMs: MINUTE })) > 0);
      assert.equal(await cache.take(['a'], { max: 6, windowMs: MINUTE }), 0);
    });

    test('admits exactly the maximum of concurrent calls', async (t) => {
      const cache = await opened(t);
      const waits = await Promise.all(Array.from({ length: 200 }, () => cache.take(['a'], { max: 30, windowMs: MINUTE })));
      assert.equal(waits.filter((wait) => wait === 0).length, 30);
    });

    test('supports high rates', async (t) => {
      const cache = await opened(t);
      const rate = { max: Number.MAX_SAFE_INTEGER, windowMs: MAX_TTL_MS };
      assert.equal(await cache.take(['a'], rate, Number.MAX_SAFE_INTEGER - 1), 0);
      assert.equal(await cache.take(['a'], rate), 0);
      assert.ok((await cache.take(['a'], rate)) > 0);
    });
  });

  describe(`counters on ${name}`, () => {
    test('counters start at 0 and add positive and negative amounts', async (t) => {
      const cache = await opened(t);
      assert.equal(await cache.count(['spent']), 0);
      assert.deepEqual([await cache.add(['spent'], 5, MINUTE), await cache.add(['spent'], -7, MINUTE)], [5, -2]);
      assert.equal(await cache.count(['spent']), -2);
      assert.equal(await cache.count(['other']), 0);
    });

    test('concurrent additions are exact and limited to safe integers', async (t) => {
      const cache = await opened(t);
      const sums = await Promise.all(Array.from({ length: 100 }, () => cache.add(['a'], 1, MINUTE)));
      assert.deepEqual(new Set(sums), new Set(Array.from({ length: 100 }, (_, n) => n + 1)));
      assert.equal(await cache.add(['a'], Number.MAX_SAFE_INTEGER, MINUTE), Number.MAX_SAFE_INTEGER);
      assert.equal(await cache.add(['b'], Number.MIN_SAFE_INTEGER, MINUTE), Number.MIN_SAFE_INTEGER);
      assert.equal(await cache.add(['b'], -1, MINUTE), Number.MIN_SAFE_INTEGER);
    });

    test('a counter expires after the TTL of its first addition', async (t) => {
      const cache = await opened(t);
      assert.equal(await cache.add(['a'], 1, 1_000), 1);
      await delay(500);
      assert.equal(await cache.add(['a'], 1, 1_000), 2);
      await delay(500 + EARLY_MS);
      assert.equal(await cache.count(['a']), 0);
      assert.equal(await cache.add(['a'], 1, MINUTE), 1);
    });
  });

  describe(`values on ${name}`, () => {
    test('a value is readable until it expires, is deleted or replaced', async (t) => {
      const cache = await opened(t);
      assert.equal(await cache.get(['a']), undefined);
      await cache.set(['a'], 'one', 200);
      assert.equal(await cache.get(['a']), 'one');
      await cache.set(['a'], '', 200);
      assert.equal(await cache.get(['a']), '');
      await delay(200 + EARLY_MS);
      assert.equal(await cache.get(['a']), undefined);
      await cache.set(['a'], 'two', MINUTE);
      await cache.delete(['a']);
      await cache.delete(['a']);
      assert.equal(await cache.get(['a']), undefined);
    });

    test('accepts values up to the maximum size and rejects larger ones', async (t) => {
      const cache = await opened(t);
      for (const text of ['\0\r\n$5', '€ and 𝄞', 'x'.repeat(MAX_VALUE_BYTES)]) {
        await cache.set(['a'], text, MINUTE);
        assert.equal(await cache.get(['a']), text);
      }
      const tooLarge = { code: 'OUT_OF_RANGE', message: /at most 262144 bytes, got 262145/ };
      await assert.rejects(cache.set(['a'], `${'x'.repeat(MAX_VALUE_BYTES - 2)}€`, MINUTE), tooLarge);
    });

    test('different keys never collide', async (t) => {
      const cache = await opened(t);
      const keys: Key[] = [
        ['a', 'b'],
        ['a:b'],
        ['a","b'],
        ['a', 'b', ''],
        ['\uD800'],
        ['\uDFFF'],
        ['\uFFFD'],
        ['__proto__'],
        ['x'.repeat(100_000)],
      ];
      for (const [n, key] of keys.entries()) await cache.set(key, String(n), MINUTE);
      for (const [n, key] of keys.entries()) assert.equal(await cache.get(key), String(n));
      assert.equal(await cache.count(['a', 'b']), 0, 'a counter is no value');
      assert.equal(await cache.take(['a', 'b'], { max: 1, windowMs: MINUTE }), 0, 'and neither is a window');
    });
  });

  describe(`boards on ${name}`, () => {
    /** Reads all notes that a reader has not seen yet. */
    const all = async (board: Board): Promise<string[]> => {
      const texts: string[] = [];
      for (let notes = await board.exchange(); notes.length > 0; notes = await board.exchange())
        texts.push(...notes.map(({ text }) => text));
      return texts;
    };

    test('exchange returns the notes of others once and in order', async (t) => {
      const cache = await opened(t);
      const [a, b, other] = [cache.board(['x'], MINUTE), cache.board(['x'], MINUTE), cache.board(['y'], MINUTE)];
      assert.deepEqual(await a.exchange(), []);
      assert.deepEqual(await a.exchange('one'), []);
      assert.deepEqual(await a.exchange(''), []);
      assert.deepEqual(
        (await b.exchange('of b')).map(({ text }) => text),
        ['one', ''],
      );
      assert.deepEqual(await b.exchange(), []);
      assert.deepEqual(await all(a), ['of b']);
      assert.deepEqual(await all(other), [], 'another board has its own');
      assert.deepEqual(await all(cache.board(['x'], MINUTE)), ['one', '', 'of b'], 'who comes later reads what is kept');
    });

    test('a note has an age and expires', async (t) => {
      const cache = await opened(t);
      const [a, b] = [cache.board(['x'], 300), cache.board(['x'], 300)];
      await a.exchange('first');
      await delay(200);
      await a.exchange('second');
      const [first, second] = await b.exchange();
      assert.ok(first !== undefined && first.ageMs >= 195 && second !== undefined && second.ageMs <= first.ageMs - 190);
      await delay(150);
      assert.deepEqual(await all(cache.board(['x'], 300)), ['second']);
    });

    test('concurrent exchanges lose no notes', async (t) => {
      const cache = await opened(t);
      const boards = Array.from({ length: 10 }, () => cache.board(['x'], MINUTE));
      const receivedMessages = boards.map((): string[] => []);
      for (let round = 0; round < 10; round++)
        await Promise.all(
          boards.map(async (board, at) => receivedMessages[at]?.push(...(await board.exchange(`${at}-${round}`)).map(({ text }) => text))),
        );
      for (const [at, board] of boards.entries()) {
        receivedMessages[at]?.push(...(await all(board)));
        assert.equal(new Set(receivedMessages[at]).size, 90);
        assert.equal(receivedMessages[at]?.length, 90);
      }
    });

    test('keeps the newest notes and returns large ones over several calls', async (t) => {
      const cache = await opened(t);
      const [a, b, late] = [cache.board(['x'], MINUTE), cache.board(['x'], MINUTE), cache.board(['x'], MINUTE)];
      const large = 'x'.repeat(MAX_VALUE_BYTES);
      for (let n = 0; n < 6; n++) await a.exchange(large);
      assert.deepEqual(
        await all(b),
        Array.from({ length: 6 }, () => large),
      );
      for (let n = 0; n < MAX_NOTES + 3; n++) await a.exchange(String(n));
      const keptItems = await all(late);
      assert.deepEqual([keptItems.length, keptItems[0], keptItems.at(-1)], [MAX_NOTES, '3', String(MAX_NOTES + 2)]);
      await assert.rejects(a.exchange(`${large}x`), { code: 'OUT_OF_RANGE', message: /a note .*at most 262144 bytes, got 262145/ });
    });
  });

  test(`rejects invalid arguments on ${name}`, async (t) => {
    const cache = await opened(t);
    const mistake = (message: RegExp) => ({ code: 'INTERNAL', message });
    await assert.rejects(cache.take(['a'], { max: -1, windowMs: 1 }), mistake(/the max of a rate must be a whole number from 0 .* got -1/));
    await assert.rejects(cache.take(['a'], { max: 1, windowMs: 0 }), mistake(/windowMs/));
    await assert.rejects(cache.take(['a'], { max: 1, windowMs: 1 }, 0.5), mistake(/an amount/));
    await assert.rejects(cache.add(['a'], Number.NaN, 1), mistake(/an amount .* got NaN/));
    await assert.rejects(cache.add(['a'], 1, MAX_TTL_MS + 1), mistake(/ttlMs of a counter .* to 2678400000/));
    await assert.rejects(cache.set(['a'], 'x', Number.POSITIVE_INFINITY), mistake(/ttlMs of a value/));
    assert.throws(() => cache.board(['a'], 0), mistake(/keepMs of a board/));
  });
}
