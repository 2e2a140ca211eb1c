import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, opener, readAll, someBytes, TYPE, type OpenBlobs } from './fixture.contract.ts';
import { bytesOf, putBlob } from '../transfer/put-blob.ts';

export function readingContract(open: OpenBlobs): void {
  const fresh = opener(open);

  test('a reading begins at any offset and ends after as many bytes as were asked for', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const bytes = someBytes(700_000);
    const { id } = await putBlob(blobs, bytesOf(bytes), { contentType: TYPE });
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

  test('a reading that was cut goes on where it was cut', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const bytes = someBytes(700_000);
    const { id } = await putBlob(blobs, bytesOf(bytes), { contentType: TYPE });
    const got: Uint8Array[] = [];
    for await (const piece of (await blobs.read(id)).bytes) if (got.push(piece) === 3) break;
    const offset = Buffer.concat(got).length;
    assert.ok(offset < bytes.length);
    assert.ok(bytes.equals(Buffer.concat([...got, await readAll(blobs, id, { offset })])));
  });

  test('a reading that is cancelled ends', async (t) => {
    const blobs = (await fresh(t)).for(a);
    const { id } = await putBlob(blobs, bytesOf(someBytes(10_000_000)), { contentType: TYPE });
    const controller = new AbortController();
    const { bytes } = await blobs.read(id, { signal: controller.signal });
    await assert.rejects(
      async () => {
        for await (const piece of bytes) if (piece.length > 0) controller.abort();
      },
      { code: 'CANCELLED' },
    );
  });

  test('what nobody could have written is refused by its field', async (t) => {
    const store = await fresh(t);
    const blobs = store.for(a);
    for (const id of ['', '../../etc/passwd', 'blob_', `blob_${'a'.repeat(21)}/`, `blob_${'a'.repeat(23)}`, `blob_${'a'.repeat(21)}\0`]) {
      const refusal = { code: 'INVALID_ARGUMENT', message: /^id: expected/ };
      await assert.rejects(blobs.read(id), refusal);
      await assert.rejects(blobs.status(id), refusal);
      await assert.rejects(blobs.remove(id), refusal);
      await assert.rejects(blobs.write({ id, contentType: TYPE }), refusal);
    }
    const head = { id: `blob_${'a'.repeat(22)}`, contentType: TYPE };
    await assert.rejects(blobs.write({ ...head, offset: -1 }), { code: 'INVALID_ARGUMENT', message: /^offset: expected/ });
    await assert.rejects(blobs.write({ ...head, size: 0.5 }), { code: 'INVALID_ARGUMENT', message: /^size: expected/ });
    await assert.rejects(blobs.write({ ...head, contentType: 'a\nb' }), { code: 'INVALID_ARGUMENT', message: /^contentType: expected/ });
    await assert.rejects(blobs.read(head.id, { offset: -1 }), { code: 'INVALID_ARGUMENT', message: /^offset: expected/ });
    const writer = await blobs.write(head);
    await assert.rejects(writer.finish('00'), { code: 'INVALID_ARGUMENT', message: /^sha256: expected/ });
    assert.throws(() => store.for({ tenant: '' }), { code: 'INVALID_ARGUMENT' });
    for (const tenant of ['../b', 'a/b', '.', 'ä\0', 'x'.repeat(256)]) {
      const odd = store.for({ tenant });
      const { id } = await putBlob(odd, bytesOf(someBytes(3)), { contentType: TYPE });
      assert.equal((await odd.status(id)).offset, 3);
    }
  });
}
