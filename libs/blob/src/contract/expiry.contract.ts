import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { mintBlobId } from '../store/validate-blob.ts';
import { createSource, putBlob } from '../transfer/put-blob.ts';
import { a, createOpener, newHead, sha256, someBytes, TYPE, writeAll, type OpenBlobs } from './fixture.contract.ts';

const HOUR_MS = 3_600_000;

export function expiryContract(open: OpenBlobs): void {
  const openStore = createOpener(open);

  test('reports a blob as BLOB_EXPIRED from its expiry time on', async (t) => {
    const clock = { now: Date.now() };
    const blobs = (await openStore(t, { now: () => clock.now })).for(a);
    const { id, expiresAt } = await putBlob(blobs, createSource(someBytes(10)), { contentType: TYPE });
    assert.equal(expiresAt, clock.now + HOUR_MS);
    clock.now = expiresAt - 1;
    assert.equal((await blobs.status(id)).size, 10);
    clock.now = expiresAt;
    const expired = { code: 'NOT_FOUND', details: { reason: 'BLOB_EXPIRED' } };
    await assert.rejects(blobs.read(id), expired);
    await assert.rejects(blobs.status(id), expired);
  });

  test('accepts an expiry time of the writer up to maxTtlMs', async (t) => {
    const now = Date.now();
    const blobs = (await openStore(t, { now: () => now, limits: { maxTtlMs: 2 * HOUR_MS } })).for(a);
    const put = async (expiresAt: number) => (await putBlob(blobs, createSource(someBytes(1)), { contentType: TYPE, expiresAt })).expiresAt;
    assert.equal(await put(now + 5_000), now + 5_000);
    assert.equal(await put(now + 9 * HOUR_MS), now + 2 * HOUR_MS);
  });

  test('a sweep deletes expired blobs and abandoned uploads and keeps other blobs', async (t) => {
    const location = mintBlobId();
    const clock = { now: Date.now() };
    const first = (await openStore(t, { location, now: () => clock.now })).for(a);
    const expired = await writeAll(first, { ...newHead(), expiresAt: clock.now + 5_000 }, someBytes(100_000));
    const kept = await writeAll(first, { ...newHead(), expiresAt: clock.now + 3 * HOUR_MS }, someBytes(100_000));
    const abandoned = newHead();
    const writer = await first.write(abandoned);
    await writer.append(someBytes(10));

    const later = await open({ location, now: () => clock.now, limits: { sweepMs: 10 } });
    t.after(() => later.close());
    const blobs = later.for(a);
    clock.now += HOUR_MS + 60_000;
    // The same id can be written again after the sweep.
    const isWritten = () =>
      writeAll(blobs, { id: expired.id, contentType: TYPE }, someBytes(1)).then(
        () => true,
        () => false,
      );
    while (!(await isWritten())) await delay(5);
    // Sweeps delete expired blobs first.
    await delay(200);
    await assert.rejects(writer.finish(sha256(someBytes(10))));
    await assert.rejects(blobs.status(abandoned.id), { code: 'NOT_FOUND' });
    assert.equal((await blobs.status(kept.id)).size, 100_000);
  });
}
