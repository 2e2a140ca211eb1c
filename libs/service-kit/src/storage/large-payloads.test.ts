import assert from 'node:assert/strict';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBlobStore } from '@switchyard/blob';
import { connectBus, createMemoryHub, encodePrincipal, type Bus, type LargeAnswer } from '@switchyard/bus';
import { callables, contracts, INLINE_BYTES, type Callable, type Principal } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import { largePayloads } from './large-payloads.ts';

const log = silentLogger();
const MINUTE_MS = 60_000;
const said = { tokensUsed: { input: 1, output: 1, total: 2 }, finishReason: 'stop' as const };
const principal: Principal = { tenant: 'acme', client: 'alice', scopes: ['*'] };
const LONG = 'ö'.repeat(1_000_000);

/** A caller and a service that share a file store with a manual clock. */
async function openHouse(directory: string) {
  await using opening = new AsyncDisposableStack();
  let later = 0;
  const options = { log, now: () => Date.now() + later, limits: { sweepMs: 5, abandonedMs: MINUTE_MS } };
  const store = await openBlobStore(`file:${directory}`, options);
  opening.defer(() => store.close());
  const hub = createMemoryHub();
  const large = largePayloads(() => Promise.resolve(store), log);
  const connect = (service: 'gateway' | 'sessions'): Promise<Bus> =>
    connectBus('memory:', { hub, log, service, principal, large, inlineBytes: INLINE_BYTES, checkResults: true });
  const [owner, caller] = [await connect('sessions'), await connect('gateway')];
  opening.defer(() => owner.drain());
  opening.defer(() => caller.drain());
  const execute = ({ message }: { message: string }) => ({ ...said, response: message });
  await owner.serve(contracts.sessions, { 'agent.execute': execute }, { version: '1.0.0' });
  const owned = opening.move();
  return {
    caller,
    wait: (ms: number) => void (later += ms),
    /** Lists the blob files, complete or not. A sweep may remove a folder meanwhile, which glob tolerates. */
    async files(): Promise<string[]> {
      const names = await Array.fromAsync(glob('**/blob_*', { cwd: directory }));
      return names.filter((name) => /blob_\w+$/.test(name));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
}

test('transfers large params and results through the blob store and deletes them', async () => {
  await using directory = await tempDir();
  await using house = await openHouse(join(directory.path, 'blobs'));
  assert.deepEqual(await house.caller.call('agent.execute', { message: LONG }), { ...said, response: LONG });
  await waitUntil(async () => (await house.files()).length === 0);
});

test('the blob of a result that is never fetched expires', async () => {
  await using directory = await tempDir();
  await using house = await openHouse(join(directory.path, 'blobs'));
  const head = { principal: encodePrincipal(principal), requestId: 'r', timeoutMs: 5_000 };
  const params = Buffer.from(JSON.stringify({ message: LONG }));
  const answer = await new Promise<LargeAnswer | undefined>((resolve) => {
    house.caller.forward(callables.get('agent.execute') as Callable, params, head, ({ large }) => resolve(large));
  });
  await waitUntil(async () => (await house.files()).length === 1); // the blob of the params is deleted
  assert.ok((answer?.size ?? 0) > 2 * LONG.length);
  house.wait(14 * MINUTE_MS);
  await new Promise((resolve) => setTimeout(resolve, 50)); // time for several sweeps
  assert.equal((await house.files()).length, 1);
  house.wait(2 * MINUTE_MS);
  await waitUntil(async () => (await house.files()).length === 0);
  await assert.rejects(
    async () => {
      for await (const piece of answer?.chunks(new AbortController().signal) ?? []) assert.ok(piece);
    },
    { code: 'UNAVAILABLE', details: { reason: 'PAYLOAD_LOST', retryable: false, mayHaveRun: true } },
  );
});
