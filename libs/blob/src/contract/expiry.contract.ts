import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mintBlobId } from '../store/validate-blob.ts';
import { a, newHead, opener, someBytes, TYPE, writeAll, type OpenBlobs } from './fixture.contract.ts';
import { bytesOf, putBlob } from '../transfer/put-blob.ts';

const HOUR_MS = 3_600_000;

export function expiryContract(open: OpenBlobs): void {
  const fresh = opener(open);

  test('a blob that expired is there for nobody, and said to have been until it is swept', async (t) => {
    const clock = { now: Date.now() };
    const blobs = (await fresh(t, { now: () => clock.now })).for(a);
    const { id, expiresAt } = await putBlob(blobs, bytesOf(someBytes(10)), { contentType: TYPE });
    assert.equal(expiresAt, clock.now + HOUR_MS);
    clock.now = expiresAt - 1;
    assert.equal((await blobs.status(id)).offset, 10);
    clock.now = expiresAt;
    const expired = { code: 'NOT_FOUND', details: { reason: 'BLOB_EXPIRED' } };
    await assert.rejects(blobs.read(id), expired);
    await assert.rejects(blobs.status(id), expired);
  });

  test('its writer says when, within what the store keeps', async (t) => {
    const now = Date.now();
    const blobs = (await fresh(t, { now: () => now, limits: { maxTtlMs: 2 * HOUR_MS } })).for(a);
    const put = async (expiresAt: number) => (await putBlob(blobs, bytesOf(someBytes(1)), { contentType: TYPE, expiresAt })).expiresAt;
    assert.equal(await put(now + 5_000), now + 5_000);
    assert.equal(await put(now + 9 * HOUR_MS), now + 2 * HOUR_MS);
  });

  test('a sweep removes what expired, and uploads that nobody went on with, and nothing else', async (t) => {
    const place = mintBlobId();
    const clock = { now: Date.now() };
    const soon = clock.now + 5_000;
    const first = (await fresh(t, { place, now: () => clock.now })).for(a);
    const expired = await writeAll(first, { ...newHead(), expiresAt: soon }, someBytes(100_000));
    const kept = await writeAll(first, { ...newHead(), expiresAt: clock.now + 3 * HOUR_MS }, someBytes(100_000));
    const abandoned = newHead();
    await (await first.write(abandoned)).leave();

    const later = await open({ place, now: () => clock.now, limits: { sweepMs: 10, maxUploadsPerTenant: 1 } });
    t.after(() => later.close());
    const blobs = later.for(a);
    await assert.rejects(blobs.write(newHead()), { code: 'RESOURCE_EXHAUSTED' });
    clock.now += HOUR_MS + 60_000;
    // An id is free again once nothing of it is kept.
    for (const { id } of [expired, abandoned])
      for (;;)
        if (
          await writeAll(blobs, { id, contentType: TYPE }, someBytes(1)).then(
            () => true,
            () => false,
          )
        )
          break;
    assert.equal((await blobs.status(kept.id)).offset, 100_000);
  });
}
