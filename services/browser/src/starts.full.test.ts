import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const STARTS = Number(process.env['SWITCHYARD_TEST_STARTS'] ?? 200);
/** The first starts load the driver and compile its code. */
const WARM_UP_STARTS = 5;
const BUDGET_MS = 100_000;
const MIN_STARTS = 10;
/** Growth of the heap per start. A leaked session keeps pages, contexts and listeners: more than 100 KiB. */
const MAX_GROWTH_BYTES = 32_768;

const listProfiles = async (): Promise<string[]> => (await readdir('/dev/shm')).filter((name) => name.startsWith('switchyard-browser-'));

function measureHeap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test('starts and stops leave neither memory nor profiles behind', TIMEOUT, async (t) => {
  await using _outside = await startOutside({ '/': '<title>Here</title><p>words</p>' });
  await using app = await testBrowser({ settings: { browser: { timeoutMs: 20_000 } } });
  const before = new Set(await listProfiles());
  const run = async (): Promise<void> => {
    await app.bus.call('browser.navigate', { url: 'http://site.example/' });
    await app.bus.call('browser.snapshot', {});
    await app.bus.call('browser.stop', {});
  };
  for (let at = 0; at < WARM_UP_STARTS; at++) await run();
  const heap = measureHeap();
  const startedAt = performance.now();
  let starts = 0;
  for (; starts < STARTS && performance.now() - startedAt < BUDGET_MS - 20_000; starts++) await run();
  const growth = (measureHeap() - heap) / starts;
  t.diagnostic(
    `${starts} starts of ${Math.round((performance.now() - startedAt) / starts)} ms; the heap grew by ${Math.round(growth)} bytes for each`,
  );
  assert.ok(starts >= MIN_STARTS, `only ${starts} starts`);
  assert.ok(growth < MAX_GROWTH_BYTES, `${growth} bytes`);
  for (;;) {
    const left = (await listProfiles()).filter((name) => !before.has(name));
    if (left.length === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 100)); // ends with the timeout of the test
  }
});
