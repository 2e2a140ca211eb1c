import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, b, newHead, opener, readAll, sha256, someBytes, TYPE, writeAll, type OpenBlobs } from './fixture.contract.ts';
import { bytesOf, putBlob } from '../transfer/put-blob.ts';

const TOO_LARGE = { code: 'FAILED_PRECONDITION', details: { reason: 'PAYLOAD_TOO_LARGE' } };

export function boundsContract(open: OpenBlobs): void {
  const fresh = opener(open);

  test('what is too large is refused: before it is sent if its size is said, else where it becomes too large', async (t) => {
    const blobs = (await fresh(t, { limits: { maxBytes: 100_000 } })).for(a);
    await assert.rejects(blobs.write({ ...newHead(), size: 100_001 }), TOO_LARGE);
    const head = newHead();
    await assert.rejects(async () => {
      const writer = await blobs.write(head);
      await writer.append(someBytes(60_000));
      await writer.append(someBytes(60_000));
      await writer.finish(sha256(someBytes(1)));
    }, TOO_LARGE);
    await assert.rejects(blobs.status(head.id), { code: 'NOT_FOUND' }, 'nothing of it is kept');
    assert.equal((await writeAll(blobs, newHead(), someBytes(100_000))).size, 100_000);
  });

  test('a tenant has so many transfers at once, and another one has its own', async (t) => {
    const store = await fresh(t, { limits: { maxTransfersPerTenant: 2, maxTransfers: 3 } });
    const { id } = await putBlob(store.for(a), bytesOf(someBytes(5_000_000)), { contentType: TYPE });
    const first = await store.for(a).write(newHead());
    const reading = await store.for(a).read(id);
    const full = { code: 'RESOURCE_EXHAUSTED', details: { reason: 'TOO_MANY_TRANSFERS', retryAfterMs: 1_000 } };
    await assert.rejects(store.for(a).write(newHead()), full);
    await assert.rejects(store.for(a).read(id), full);
    const other = await store.for(b).write(newHead());
    await assert.rejects(store.for(b).write(newHead()), full, 'three are all there may be');
    await first.leave();
    for await (const piece of reading.bytes) if (piece.length > 0) break;
    await other.leave();
    await eventually(async () => void (await store.for(a).status(id), await writeAll(store.for(a), newHead(), someBytes(3))));
    assert.equal((await readAll(store.for(a), id)).length, 5_000_000);
  });

  test('a tenant has so many unfinished uploads, and may go on with each', async (t) => {
    const blobs = (await fresh(t, { limits: { maxUploadsPerTenant: 2 } })).for(a);
    const heads = [newHead(), newHead()];
    for (const head of heads) {
      const writer = await blobs.write(head);
      await writer.append(someBytes(10));
      await writer.leave();
    }
    await assert.rejects(blobs.write(newHead()), { code: 'RESOURCE_EXHAUSTED' });
    for (const head of heads) await eventually(async () => (await blobs.write({ ...head, ...(await blobs.status(head.id)) })).leave());
    await blobs.remove(heads[0]?.id ?? '');
    assert.equal((await writeAll(blobs, newHead(), someBytes(3))).size, 3);
  });

  test('who sends nothing, and who takes nothing, is sent away; what was sent stays', async (t) => {
    const blobs = (await fresh(t, { limits: { idleMs: 200, maxTransfersPerTenant: 2 } })).for(a);
    const { id } = await putBlob(blobs, bytesOf(someBytes(20_000_000)), { contentType: TYPE });
    const head = newHead();
    const ended = Promise.withResolvers<{ code: string }>();
    const writer = await blobs.write(head, { onEnd: ended.resolve });
    await writer.append(someBytes(10));
    const { bytes } = await blobs.read(id);
    assert.equal((await ended.promise).code, 'DEADLINE_EXCEEDED');
    await assert.rejects(writer.append(someBytes(1)), { code: 'DEADLINE_EXCEEDED', details: { reason: 'IDLE', retryable: true } });
    // Both places are free again.
    await eventually(async () => {
      const others: { leave(): Promise<void> }[] = [];
      try {
        for (const _ of ['one', 'other']) others.push(await blobs.write(newHead()));
      } finally {
        for (const other of others) await other.leave();
      }
    });
    await assert.rejects(
      async () => {
        for await (const piece of bytes) assert.ok(piece.length > 0);
      },
      { code: 'DEADLINE_EXCEEDED' },
    );
    assert.equal((await blobs.status(head.id)).offset, 10);
  });
}

/** The other side may hear a moment later that a transfer was left. */
async function eventually(work: () => Promise<void>): Promise<void> {
  for (const until = Date.now() + 5_000; ;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  }
}
