import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOwnMongo } from '@switchyard/testkit';
import { openStore } from '../../index.ts';

/** Polls until the condition holds. The driver does not report when it notices the change. */
async function eventually(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 50));
}

test('reports whether the database is reachable without a request', { timeout: 60_000 }, async () => {
  const server = await startOwnMongo();
  const store = await openStore(server.url, { service: 'reachable' });
  try {
    assert.equal(store.connected?.(), true);
    await server.kill();
    await eventually(() => store.connected?.() === false);
    await server.restart();
    await eventually(() => store.connected?.() === true);
  } finally {
    await store.close();
    await server.stop();
  }
});
