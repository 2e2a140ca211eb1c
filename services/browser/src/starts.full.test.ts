// alone: measures the growth of the heap over many starts
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const REQUESTED_STARTS = process.env['SWITCHYARD_TEST_STARTS'];
/** The long form has 200. */
const STARTS = Number(REQUESTED_STARTS ?? 40);
/** The first starts load the driver and compile its code. */
const WARM_UP_STARTS = 5;
/** A slow machine performs fewer starts, unless their number is requested. */
const MAX_TEST_MS = REQUESTED_STARTS === undefined ? 30_000 : STARTS * 20_000;
const MIN_STARTS = 10;
/** Growth of the heap per start. A leaked session keeps pages, contexts and listeners: more than 100 KiB. Garbage varies by 70 KiB. */
const MAX_GROWTH_BYTES = 98_304;

const listProfiles = async (): Promise<string[]> => (await readdir('/dev/shm')).filter((name) => name.startsWith('switchyard-browser-'));

function measureHeap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test('starts and stops leave neither memory nor profiles behind', { ...TIMEOUT, timeout: MAX_TEST_MS + 60_000 }, async (t) => {
  await using _outside = await startOutside({ '/': '<title>Here</title><p>words</p>' });
  await using app = await testBrowser({ settings: { browser: { timeoutMs: 20_000 } } });
  const before = new Set(await listProfiles());
  const run = async (): Promise<void> => {
    await app.bus.call('browser.navigate', { url: 'http://site.example/' });
    await app.bus.call('browser.snapshot', {});
    await app.bus.call('browser.stop', {});
  };
  for (let at = 0; at < WARM_UP_STARTS; at++) await run();
  const startedAt = performance.now();
  const growths: number[] = [];
  let starts = 0;
  for (let half = 1; half <= 2; half += 1) {
    const [heap, first] = [measureHeap(), starts];
    const endsAt = startedAt + (half * MAX_TEST_MS) / 2;
    while (starts < (half * STARTS) / 2 && (performance.now() < endsAt || starts - first < MIN_STARTS / 2)) {
      await run();
      starts += 1;
    }
    growths.push((measureHeap() - heap) / (starts - first));
  }
  // A leak grows the heap in both halves. Caches that fill once grow it in the first half of a slow run only.
  const growth = Math.min(...growths);
  const meanMs = Math.round((performance.now() - startedAt) / starts);
  t.diagnostic(`${starts} starts of ${meanMs} ms; the heap grew by ${growths.map(Math.round).join(' and ')} bytes for each`);
  assert.ok(growth < MAX_GROWTH_BYTES, `${growth} bytes`);
  for (;;) {
    const left = (await listProfiles()).filter((name) => !before.has(name));
    if (left.length === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 100)); // ends with the timeout of the test
  }
});
