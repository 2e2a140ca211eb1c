import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSource, putBlob } from '../transfer/put-blob.ts';
import { a, b, createOpener, newHead, readAll, sha256, someBytes, TYPE, writeAll, type OpenBlobs } from './fixture.contract.ts';

const TOO_LARGE = { code: 'FAILED_PRECONDITION', details: { reason: 'PAYLOAD_TOO_LARGE' } };

export function limitsContract(open: OpenBlobs): void {
  const openStore = createOpener(open);

  test('rejects a blob above maxBytes, at once if its size is known', async (t) => {
    const blobs = (await openStore(t, { limits: { maxBytes: 100_000 } })).for(a);
    await assert.rejects(blobs.write({ ...newHead(), size: 100_001 }), TOO_LARGE);
    const head = newHead();
    await assert.rejects(async () => {
      const writer = await blobs.write(head);
      await writer.append(someBytes(60_000));
      await writer.append(someBytes(60_000));
      await writer.finish(sha256(someBytes(1)));
    }, TOO_LARGE);
    await assert.rejects(blobs.status(head.id), { code: 'NOT_FOUND' });
    assert.equal((await writeAll(blobs, newHead(), someBytes(100_000))).size, 100_000);
  });

  test('limits concurrent transfers per tenant and in total', async (t) => {
    const store = await openStore(t, { limits: { maxTransfersPerTenant: 2, maxTransfers: 3 } });
    const { id } = await putBlob(store.for(a), createSource(someBytes(5_000_000)), { contentType: TYPE });
    const first = await store.for(a).write(newHead());
    const reading = await store.for(a).read(id);
    const rejected = { code: 'RESOURCE_EXHAUSTED', details: { reason: 'TOO_MANY_TRANSFERS', retryAfterMs: 1_000 } };
    await assert.rejects(store.for(a).write(newHead()), rejected);
    await assert.rejects(store.for(a).read(id), rejected);
    const other = await store.for(b).write(newHead());
    await assert.rejects(store.for(b).write(newHead()), rejected, 'the total limit of three is reached');
    await first.abort();
    for await (const chunk of reading.bytes) if (chunk.length > 0) break;
    await other.abort();
    await eventually(async () => void (await store.for(a).status(id), await writeAll(store.for(a), newHead(), someBytes(3))));
    assert.equal((await readAll(store.for(a), id)).length, 5_000_000);
  });

  test('ends idle transfers and frees their slots', async (t) => {
    const blobs = (await openStore(t, { limits: { idleMs: 200, maxTransfersPerTenant: 2 } })).for(a);
    const { id } = await putBlob(blobs, createSource(someBytes(20_000_000)), { contentType: TYPE });
    const head = newHead();
    const ended = Promise.withResolvers<{ code: string }>();
    const writer = await blobs.write(head, { onEnd: ended.resolve });
    await writer.append(someBytes(10));
    const { bytes } = await blobs.read(id);
    assert.equal((await ended.promise).code, 'DEADLINE_EXCEEDED');
    await assert.rejects(writer.append(someBytes(1)), { code: 'DEADLINE_EXCEEDED', details: { reason: 'IDLE', retryable: true } });
    await eventually(async () => {
      const others: { abort(): Promise<void> }[] = [];
      try {
        for (const _ of ['one', 'other']) others.push(await blobs.write(newHead()));
      } finally {
        for (const other of others) await other.abort();
      }
    });
    await assert.rejects(
      async () => {
        for await (const chunk of bytes) assert.ok(chunk.length > 0);
      },
      { code: 'DEADLINE_EXCEEDED' },
    );
    await assert.rejects(blobs.status(head.id), { code: 'NOT_FOUND' });
  });
}

/** A server learns a moment later that a client has ended its transfer. */
async function eventually(work: () => Promise<void>): Promise<void> {
  for (const deadline = Date.now() + 5_000; ;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  }
}
