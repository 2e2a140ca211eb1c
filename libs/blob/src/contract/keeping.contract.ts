import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { NO_EXPIRY_MS } from '../store/blob-store.ts';
import { mintBlobId } from '../store/validate-blob.ts';
import { a, b, createOpener, newHead, readAll, someBytes, writeAll, type OpenBlobs } from './fixture.contract.ts';

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const OWNED = { code: 'FAILED_PRECONDITION', details: { reason: 'BLOB_OWNED' } };

export function keepingContract(open: OpenBlobs): void {
  const openStore = createOpener(open);

  test('keeps a blob without end until its owner releases it', async (t) => {
    const location = mintBlobId();
    const clock = { now: Date.now() };
    const first = (await openStore(t, { location, now: () => clock.now })).for(a);
    const bytes = someBytes(300_000);
    const ref = await writeAll(first, newHead(), bytes);
    const temporary = await writeAll(first, newHead(), someBytes(10));
    const kept = await first.keep(ref.id, { owner: 'run/1' });
    assert.deepEqual(kept, { ...ref, owner: 'run/1', expiresAt: NO_EXPIRY_MS });
    assert.deepEqual(await first.status(ref.id), { ...ref, expiresAt: NO_EXPIRY_MS });

    clock.now += 5 * YEAR_MS;
    const later = (await openStore(t, { location, now: () => clock.now, limits: { sweepMs: 10 } })).for(a);
    await isSwept(later, temporary.id);
    assert.ok(bytes.equals(await readAll(later, ref.id)));
    await assert.rejects(later.remove(ref.id), { code: 'FAILED_PRECONDITION', details: { reason: 'BLOB_KEPT' } });
    await later.release(ref.id, 'run/1');
    await later.release(ref.id, 'run/1');
    await assert.rejects(later.status(ref.id), { code: 'NOT_FOUND', details: { reason: 'BLOB_UNKNOWN' } });
    await assert.rejects(first.keep(ref.id, { owner: 'run/1' }), { code: 'NOT_FOUND' });
  });

  test('keeps a blob until a date beyond maxTtlMs, which the owner can move', async (t) => {
    const location = mintBlobId();
    const clock = { now: Date.now() };
    const options = { location, now: () => clock.now };
    const blobs = (await openStore(t, options)).for(a);
    const [moved, ended] = [await writeAll(blobs, newHead(), someBytes(10)), await writeAll(blobs, newHead(), someBytes(10))];
    for (const { id } of [moved, ended]) await blobs.keep(id, { owner: 'job', expiresAt: clock.now + YEAR_MS });
    await blobs.keep(moved.id, { owner: 'job', expiresAt: clock.now + 2 * YEAR_MS });
    clock.now += YEAR_MS;
    await assert.rejects(blobs.status(ended.id), { code: 'NOT_FOUND', details: { reason: 'BLOB_EXPIRED' } });
    await assert.rejects(blobs.keep(ended.id, { owner: 'job' }), { code: 'NOT_FOUND', details: { reason: 'BLOB_EXPIRED' } });
    clock.now += HOUR_MS;
    // A sweep of another process deletes the expired blob, which is unknown from then on.
    await openStore(t, options);
    await isSwept(blobs, ended.id);
    assert.equal((await blobs.status(moved.id)).expiresAt, clock.now + YEAR_MS - HOUR_MS);
    assert.deepEqual(
      (await blobs.listKept({ owner: 'job' })).map(({ id }) => id),
      [moved.id],
    );
  });

  test('rejects another owner and another tenant', async (t) => {
    const store = await openStore(t);
    const { id } = await writeAll(store.for(a), newHead(), someBytes(10));
    const results = await Promise.allSettled(['one', 'two', 'three'].map((owner) => store.for(a).keep(id, { owner })));
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1, 'the first owner wins');
    const [owner = ''] = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.owner] : []));
    await assert.rejects(store.for(a).keep(id, { owner: 'four' }), OWNED);
    await assert.rejects(store.for(a).release(id, 'four'), OWNED);
    await assert.rejects(store.for(b).keep(id, { owner }), { code: 'NOT_FOUND' });
    await store.for(b).release(id, owner);
    assert.deepEqual(await store.for(b).listKept({ owner }), []);
    assert.equal((await store.for(a).keep(id, { owner })).size, 10);
  });

  test('lists the blobs of an owner in pages', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) {
      const { id } = await writeAll(blobs, newHead(), someBytes(10));
      await blobs.keep(id, { owner: count === 4 ? 'other' : 'page' });
      if (count < 4) ids.push(id);
    }
    const [one, two, three, four] = ids.toSorted();
    const list = async (after?: string) =>
      (await blobs.listKept({ owner: 'page', limit: 3, ...(after === undefined ? {} : { after }) })).map(({ id }) => id);
    assert.deepEqual(await list(), [one, two, three]);
    assert.deepEqual(await list(three), [four]);
    assert.deepEqual(await list(four), []);
  });

  test('limits what a tenant keeps to maxKeptBytes, exactly within one process', async (t) => {
    const store = await openStore(t, { limits: { maxKeptBytes: 1_000 } });
    const blobs = store.for(a);
    const refs = await Promise.all(Array.from({ length: 6 }, () => writeAll(blobs, newHead(), someBytes(300))));
    const results = await Promise.allSettled(refs.map(({ id }) => blobs.keep(id, { owner: 'quota' })));
    const kept = refs.filter((_, index) => results[index]?.status === 'fulfilled');
    assert.equal(kept.length, 3);
    const [rejected] = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    assert.deepEqual([rejected.code, rejected.details.reason], ['RESOURCE_EXHAUSTED', 'BLOB_QUOTA_EXCEEDED']);
    assert.deepEqual(await blobs.usage(), { blobs: 3, bytes: 900, maxBytes: 1_000 });
    const [first] = kept;
    const [open] = refs.filter((ref) => !kept.includes(ref));
    assert.ok(first !== undefined && open !== undefined);
    await blobs.keep(first.id, { owner: 'quota', expiresAt: Date.now() + HOUR_MS });
    const other = await writeAll(store.for(b), newHead(), someBytes(900));
    await store.for(b).keep(other.id, { owner: 'quota' });
    await blobs.release(first.id, 'quota');
    await blobs.keep(open.id, { owner: 'quota' });
    assert.equal((await blobs.usage()).bytes, 900);
  });

  test('rejects invalid owners and page sizes with the name of the field', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const id = mintBlobId();
    for (const owner of ['', 'a b', 'ä', 'x'.repeat(257)]) {
      const expected = { code: 'INVALID_ARGUMENT', message: /^owner: expected/ };
      await assert.rejects(blobs.keep(id, { owner }), expected);
      await assert.rejects(blobs.release(id, owner), expected);
      await assert.rejects(blobs.listKept({ owner }), expected);
    }
    await assert.rejects(blobs.keep('../../etc/passwd', { owner: 'a' }), { code: 'INVALID_ARGUMENT', message: /^id: expected/ });
    await assert.rejects(blobs.listKept({ owner: 'a', limit: 1_001 }), { code: 'INVALID_ARGUMENT', message: /^limit: expected/ });
  });
}

/** Resolves when a sweep has deleted the blob: it is then unknown instead of expired. */
async function isSwept(blobs: ReturnType<Awaited<ReturnType<OpenBlobs>>['for']>, id: string): Promise<void> {
  for (;;) {
    const reason = await blobs.status(id).then(
      () => undefined,
      (error: { details: { reason?: string } }) => error.details.reason,
    );
    if (reason === 'BLOB_UNKNOWN') return;
    await delay(5);
  }
}
