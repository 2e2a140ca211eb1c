import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, createOpener, readAll, someBytes, TYPE, type OpenBlobs } from './fixture.contract.ts';
import { createSource, putBlob } from '../transfer/put-blob.ts';

export function readingContract(open: OpenBlobs): void {
  const openStore = createOpener(open);

  test('reads any range of a blob and rejects an offset beyond its end', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const bytes = someBytes(700_000);
    const { id } = await putBlob(blobs, createSource(bytes), { contentType: TYPE });
    for (const [offset, limit] of [
      [0, 1],
      [0, 65_536],
      [65_535, 2],
      [261_119, 261_122],
      [500_000, 0],
      [699_999, 50],
      [700_000, 0],
    ] as const) {
      const expected = bytes.subarray(offset, limit === 0 ? bytes.length : offset + limit);
      assert.ok(expected.equals(await readAll(blobs, id, { offset, limit })), `from ${offset}, ${limit} bytes`);
    }
    await assert.rejects(blobs.read(id, { offset: 700_001 }), { code: 'OUT_OF_RANGE', details: { reason: 'BEYOND_END' } });
  });

  test('continues a read at an offset', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const bytes = someBytes(700_000);
    const { id } = await putBlob(blobs, createSource(bytes), { contentType: TYPE });
    const received: Uint8Array[] = [];
    for await (const chunk of (await blobs.read(id)).bytes) if (received.push(chunk) === 3) break;
    const offset = Buffer.concat(received).length;
    assert.ok(offset < bytes.length);
    assert.ok(bytes.equals(Buffer.concat([...received, await readAll(blobs, id, { offset })])));
  });

  test('ends a read when its signal aborts', async (t) => {
    const blobs = (await openStore(t)).for(a);
    const { id } = await putBlob(blobs, createSource(someBytes(10_000_000)), { contentType: TYPE });
    const controller = new AbortController();
    const { bytes } = await blobs.read(id, { signal: controller.signal });
    await assert.rejects(
      async () => {
        for await (const chunk of bytes) if (chunk.length > 0) controller.abort();
      },
      { code: 'CANCELLED' },
    );
  });

  test('rejects invalid arguments with the name of the field', async (t) => {
    const store = await openStore(t);
    const blobs = store.for(a);
    for (const id of ['', '../../etc/passwd', 'blob_', `blob_${'a'.repeat(21)}/`, `blob_${'a'.repeat(23)}`, `blob_${'a'.repeat(21)}\0`]) {
      const expected = { code: 'INVALID_ARGUMENT', message: /^id: expected/ };
      await assert.rejects(blobs.read(id), expected);
      await assert.rejects(blobs.status(id), expected);
      await assert.rejects(blobs.remove(id), expected);
      await assert.rejects(blobs.write({ id, contentType: TYPE }), expected);
    }
    const head = { id: `blob_${'a'.repeat(22)}`, contentType: TYPE };
    await assert.rejects(blobs.write({ ...head, size: 0.5 }), { code: 'INVALID_ARGUMENT', message: /^size: expected/ });
    await assert.rejects(blobs.write({ ...head, contentType: 'a\nb' }), { code: 'INVALID_ARGUMENT', message: /^contentType: expected/ });
    await assert.rejects(blobs.read(head.id, { offset: -1 }), { code: 'INVALID_ARGUMENT', message: /^offset: expected/ });
    const writer = await blobs.write(head);
    await assert.rejects(writer.finish('00'), { code: 'INVALID_ARGUMENT', message: /^sha256: expected/ });
    assert.throws(() => store.for({ tenant: '' }), { code: 'INVALID_ARGUMENT' });
    for (const tenant of ['../b', 'a/b', '.', 'ä\0', 'x'.repeat(256)]) {
      const unusual = store.for({ tenant });
      const { id } = await putBlob(unusual, createSource(someBytes(3)), { contentType: TYPE });
      assert.equal((await unusual.status(id)).size, 3);
    }
  });
}
