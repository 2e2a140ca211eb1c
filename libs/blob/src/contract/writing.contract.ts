import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mintBlobId } from '../store/validate-blob.ts';
import { createSource, putBlob } from '../transfer/put-blob.ts';
import { a, b, createOpener, newHead, readAll, sha256, someBytes, TYPE, writeAll, type OpenBlobs } from './fixture.contract.ts';

export function writingContract(open: OpenBlobs): void {
  const openStore = createOpener(open);

  test('reads back the bytes and metadata of a written blob', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const bytes = someBytes(300_000);
    const before = Date.now();
    const ref = await putBlob(blobs, createSource(bytes), { contentType: 'text/plain; charset=utf-8' });
    const { id, expiresAt, savedAt = 0, ...properties } = ref;
    assert.match(id, /^blob_[0-9A-Za-z]{22}$/);
    assert.deepEqual(properties, { size: bytes.length, sha256: sha256(bytes), contentType: 'text/plain; charset=utf-8' });
    assert.ok(expiresAt > before);
    assert.ok(savedAt >= before && savedAt <= Date.now());
    const reading = await blobs.read(id);
    assert.deepEqual(reading.ref, ref);
    for await (const chunk of reading.bytes) assert.ok(chunk.length <= 65_536);
    assert.ok(bytes.equals(await readAll(blobs, id)));
    assert.deepEqual(await blobs.status(id), ref);
  });

  test('stores an empty blob', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const { id, size } = await putBlob(blobs, createSource(Buffer.alloc(0)), { contentType: TYPE });
    assert.deepEqual([size, (await readAll(blobs, id)).length], [0, 0]);
  });

  test('hides an upload until it is finished and discards an aborted one', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const [bytes, head] = [someBytes(300_000), newHead()];
    const writer = await blobs.write(head);
    await writer.append(bytes);
    await assert.rejects(blobs.status(head.id), { code: 'NOT_FOUND' });
    await assert.rejects(blobs.read(head.id), { code: 'NOT_FOUND' });
    await writer.abort();
    await assert.rejects(writer.append(bytes), { code: 'CANCELLED' });
    await assert.rejects(blobs.status(head.id), { code: 'NOT_FOUND' });
    assert.equal((await writeAll(blobs, head, bytes)).sha256, sha256(bytes));
  });

  test('discards an upload whose bytes do not match its SHA-256', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const [bytes, head] = [someBytes(200_000), newHead()];
    const writer = await blobs.write(head);
    await writer.append(bytes);
    await assert.rejects(writer.finish(sha256(bytes.subarray(1))), { code: 'DATA_LOSS', details: { reason: 'CHECKSUM', retryable: true } });
    await assert.rejects(blobs.status(head.id), { code: 'NOT_FOUND' });
    assert.equal((await writeAll(blobs, head, bytes)).sha256, sha256(bytes));
  });

  test('keeps the first finished upload of an id and rejects the second', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const [bytes, other, head] = [someBytes(150_000), someBytes(90_000), newHead()];
    const [first, second] = [await blobs.write(head), await blobs.write(head)];
    await first.append(bytes);
    await second.append(other);
    const ref = await second.finish(sha256(other));
    await assert.rejects(first.finish(sha256(bytes)), { code: 'ALREADY_EXISTS', details: { reason: 'BLOB_WHOLE' } });
    await first.abort();
    assert.deepEqual(await blobs.status(head.id), ref);
    assert.ok(other.equals(await readAll(blobs, head.id)));
  });

  test('creates one blob from concurrent uploads of the same id', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const [bytes, head] = [someBytes(200_000), newHead()];
    const put = () => putBlob(blobs, createSource(bytes), { id: head.id, contentType: TYPE });
    const refs = await Promise.all(Array.from({ length: 8 }, put));
    assert.deepEqual(new Set(refs.map((ref) => JSON.stringify(ref))).size, 1);
    assert.ok(bytes.equals(await readAll(blobs, head.id)));
  });

  test('rejects writing an existing blob; putBlob returns its reference', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const [bytes, head] = [someBytes(10), newHead()];
    const ref = await writeAll(blobs, head, bytes);
    await assert.rejects(blobs.write(head), { code: 'ALREADY_EXISTS', details: { reason: 'BLOB_WHOLE' } });
    assert.deepEqual(await putBlob(blobs, createSource(bytes), { id: head.id, contentType: TYPE }), ref);
  });

  test('reports a blob of another tenant as unknown and does not remove it', async (t) => {
    const store = await openStore(t);
    const { id } = await putBlob(store.for(a), createSource(someBytes(10)), { contentType: TYPE });
    const others = store.for(b);
    for (const unknown of [id, mintBlobId()]) {
      const expected = { code: 'NOT_FOUND', message: `Blob ${unknown} not found.` };
      await assert.rejects(others.read(unknown), expected);
      await assert.rejects(others.status(unknown), expected);
    }
    await others.remove(id);
    assert.equal((await store.for(a).status(id)).size, 10);
  });

  test('remove deletes a blob and is idempotent', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const { id } = await putBlob(blobs, createSource(someBytes(10)), { contentType: TYPE });
    await blobs.remove(id);
    await blobs.remove(id);
    await assert.rejects(blobs.status(id), { code: 'NOT_FOUND' });
  });

  test('ends an upload when its signal aborts', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const controller = new AbortController();
    const writer = await blobs.write(newHead(), { signal: controller.signal });
    controller.abort();
    await assert.rejects(writer.append(someBytes(10)), { code: 'CANCELLED' });
    await assert.rejects(blobs.write(newHead(), { signal: controller.signal }), { code: 'CANCELLED' });
  });
}
