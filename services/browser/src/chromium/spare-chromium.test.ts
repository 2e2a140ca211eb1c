import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Browser } from 'playwright-core';
import { createSpareChromium } from './spare-chromium.ts';

function createStarts(): { start: () => Promise<Browser>; started: { isConnected: boolean; isClosed: boolean }[] } {
  const started: { isConnected: boolean; isClosed: boolean }[] = [];
  const start = async (): Promise<Browser> => {
    const state = { isConnected: true, isClosed: false };
    started.push(state);
    return { isConnected: () => state.isConnected, close: async () => void (state.isClosed = true) } as unknown as Browser;
  };
  return { start, started };
}

test('a launch takes the prepared Chromium, and the next one starts another', async () => {
  const { start, started } = createStarts();
  await using spare = createSpareChromium(start);
  spare.prepare();
  spare.prepare();
  assert.equal(started.length, 1);
  await spare.launch();
  assert.equal(started.length, 1);
  await spare.launch();
  assert.equal(started.length, 2);
});

test('a prepared Chromium that ended or did not start is replaced', async () => {
  const { start, started } = createStarts();
  await using spare = createSpareChromium(start);
  spare.prepare();
  for (const state of started) state.isConnected = false;
  assert.equal((await spare.launch()).isConnected(), true);
  await using failing = createSpareChromium(async () => {
    throw new Error('no Chromium');
  });
  failing.prepare();
  await assert.rejects(failing.launch(), /no Chromium/);
});

test('a prepared Chromium that no launch takes is closed', async () => {
  const { start, started } = createStarts();
  let expire = (): void => undefined;
  const clock = { after: (_: number, done: () => void) => ((expire = done), () => undefined) };
  const spare = createSpareChromium(start, clock as never);
  spare.prepare();
  expire();
  spare.prepare();
  assert.equal(started.length, 2, 'the expired one is not kept');
  await spare[Symbol.asyncDispose]();
  assert.deepEqual(
    started.map(({ isClosed }) => isClosed),
    [true, true],
  );
});
