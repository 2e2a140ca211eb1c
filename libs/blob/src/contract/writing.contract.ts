import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mintBlobId } from '../store/validate-blob.ts';
import { a, b, newHead, opener, readAll, sha256, someBytes, TYPE, writeAll, type OpenBlobs } from './fixture.contract.ts';
import { bytesOf, putBlob } from '../transfer/put-blob.ts';

const MIB = 1_048_576;

export function writingContract(open: OpenBlobs): void {
  const fresh = opener(open);

  test('what was written is read back, with what is known of it', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const bytes = someBytes(300_000);
    const before = Date.now();
    const ref = await putBlob(blobs, bytesOf(bytes), { contentType: 'text/plain; charset=utf-8' });
    const { id, expiresAt, savedAt = 0, ...known } = ref;
    assert.match(id, /^blob_[0-9A-Za-z]{22}$/);
    assert.deepEqual(known, { size: bytes.length, sha256: sha256(bytes), contentType: 'text/plain; charset=utf-8' });
    assert.ok(expiresAt > before);
    assert.ok(savedAt >= before && savedAt <= Date.now());
    const reading = await blobs.read(id);
    assert.deepEqual(reading.ref, ref);
    for await (const piece of reading.bytes) assert.ok(piece.length <= 65_536);
    assert.ok(bytes.equals(await readAll(blobs, id)));
    assert.deepEqual(await blobs.status(id), { offset: bytes.length, ref });
  });

  test('nothing at all is a blob too', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const { id, size } = await putBlob(blobs, bytesOf(Buffer.alloc(0)), { contentType: TYPE });
    assert.deepEqual([size, (await readAll(blobs, id)).length], [0, 0]);
  });

  test('a write that was cut goes on where it was cut', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const [bytes, head] = [someBytes(MIB), newHead()];
    const cut = await blobs.write(head);
    await cut.append(bytes.subarray(0, 400_000));
    await cut.leave();
    const { offset, ref } = await blobs.status(head.id);
    assert.ok(offset > 0 && offset <= 400_000, `${offset} bytes are there`);
    assert.equal(ref, undefined);
    await assert.rejects(blobs.read(head.id), { code: 'NOT_FOUND' });

    const rest = await blobs.write({ ...head, offset });
    await rest.append(bytes.subarray(offset));
    assert.equal((await rest.finish(sha256(bytes))).size, bytes.length);
    assert.ok(bytes.equals(await readAll(blobs, head.id)));
  });

  test('another process goes on with it as well', async (t) => {
    const place = mintBlobId();
    const [bytes, head] = [someBytes(MIB), newHead()];
    const first = await fresh(t, { place });
    const cut = await first.for(a).write(head);
    await cut.append(bytes.subarray(0, 600_000));
    await first.close();
    const second = (await fresh(t, { place })).for(a);
    const { id } = await putBlob(second, bytesOf(bytes), { id: head.id, contentType: TYPE });
    assert.equal(id, head.id);
    assert.ok(bytes.equals(await readAll(second, id)));
  });

  test('bytes for another offset are refused, with the offset that is right', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const head = newHead();
    await assert.rejects(blobs.write({ ...head, offset: 7 }), { code: 'OUT_OF_RANGE', details: { reason: 'WRONG_OFFSET', offset: 0 } });
    const cut = await blobs.write(head);
    await cut.append(someBytes(100_000));
    await cut.leave();
    const { offset } = await blobs.status(head.id);
    for (const wrong of [0, offset - 1, offset + 1])
      await assert.rejects(blobs.write({ ...head, offset: wrong }), { code: 'OUT_OF_RANGE', details: { reason: 'WRONG_OFFSET', offset } });
    assert.equal((await blobs.status(head.id)).offset, offset);
  });

  test('what arrives otherwise than it was sent is thrown away', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const [bytes, head] = [someBytes(200_000), newHead()];
    const writer = await blobs.write(head);
    await writer.append(bytes);
    await assert.rejects(writer.finish(sha256(bytes.subarray(1))), { code: 'DATA_LOSS', details: { reason: 'CHECKSUM', retryable: true } });
    await assert.rejects(blobs.status(head.id), { code: 'NOT_FOUND' });
    assert.equal((await writeAll(blobs, head, bytes)).sha256, sha256(bytes));
  });

  test('of two that write under one id the later one goes on, and the earlier hears of it', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const [bytes, head] = [someBytes(150_000), newHead()];
    const ended = Promise.withResolvers<{ code: string }>();
    const earlier = await blobs.write(head, { onEnd: ended.resolve });
    const later = await blobs.write(head);
    assert.equal((await ended.promise).code, 'ABORTED');
    await assert.rejects(earlier.append(bytes), { code: 'ABORTED', details: { reason: 'TAKEN_OVER', retryable: false } });
    await later.append(bytes);
    await later.finish(sha256(bytes));
    assert.ok(bytes.equals(await readAll(blobs, head.id)));
  });

  test('many who write the same under one id leave one blob', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const [bytes, head] = [someBytes(200_000), newHead()];
    const put = () => putBlob(blobs, bytesOf(bytes), { id: head.id, contentType: TYPE });
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, put));
    const refs = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.sha256] : []));
    assert.ok(refs.length > 0, 'one of them gets it done');
    assert.deepEqual(new Set(refs), new Set([sha256(bytes)]));
    assert.ok(bytes.equals(await readAll(blobs, head.id)));
  });

  test('all of it is there once: a second write is told so, and gets the reference', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const [bytes, head] = [someBytes(10), newHead()];
    const ref = await writeAll(blobs, head, bytes);
    await assert.rejects(blobs.write(head), { code: 'ALREADY_EXISTS', details: { reason: 'BLOB_WHOLE' } });
    assert.deepEqual(await putBlob(blobs, bytesOf(bytes), { id: head.id, contentType: TYPE }), ref);
  });

  test('a blob of another tenant is as unknown as one that never was', async (t) => {
    const store = await fresh(t);
    const { id } = await putBlob(store.for(a), bytesOf(someBytes(10)), { contentType: TYPE });
    const theirs = store.for(b);
    for (const unknown of [id, mintBlobId()]) {
      const refusal = { code: 'NOT_FOUND', message: `There is no blob ${unknown}.` };
      await assert.rejects(theirs.read(unknown), refusal);
      await assert.rejects(theirs.status(unknown), refusal);
    }
    await theirs.remove(id);
    assert.equal((await store.for(a).status(id)).offset, 10);
  });

  test('a blob that was removed is gone, and so is half of one', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const { id } = await putBlob(blobs, bytesOf(someBytes(10)), { contentType: TYPE });
    const half = newHead();
    await (await blobs.write(half)).leave();
    for (const gone of [id, half.id]) {
      await blobs.remove(gone);
      await blobs.remove(gone);
      await assert.rejects(blobs.status(gone), { code: 'NOT_FOUND' });
    }
  });

  test('a writer that leaves is not waited for, and one that is cancelled leaves', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const controller = new AbortController();
    const writer = await blobs.write(newHead(), { signal: controller.signal });
    controller.abort();
    await assert.rejects(writer.append(someBytes(10)), { code: 'CANCELLED' });
    await assert.rejects(blobs.write(newHead(), { signal: controller.signal }), { code: 'CANCELLED' });
  });
}
