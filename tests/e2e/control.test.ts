import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { command, linesWritten, type Running } from './embedded.ts';
import { mint } from './exchange.ts';
import { onEachProfile } from './profiles.ts';

/** Everything that is set while it runs is in force everywhere by then. */
const SECOND_MS = 1_000;

async function run(product: Running, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await command(product, ...words);
  assert.equal(code, 0, stderr);
  return stdout;
}

async function created(product: Running): Promise<number> {
  return (await linesWritten(product)).filter((line) => line.includes('"msg":"a token was created"')).length;
}

async function mintSome(product: Running): Promise<void> {
  for (let n = 0; n < 6; n++) await mint(product, 'rpc');
}

onEachProfile('control', (product) => {
  test('how much a service logs is set while it runs, in all of its replicas, and set back', async () => {
    assert.equal(await run(product, 'logs', 'level', 'error', 'secrets'), 'secrets logs error and above, until the next start\n');
    await pause(SECOND_MS);
    await mintSome(product);
    await run(product, 'logs', 'level', 'info');
    await pause(SECOND_MS);
    await mintSome(product);
    while ((await created(product)) < 6) await pause(10);
    assert.equal(await created(product), 6, 'only those of the second half');
  });
});
