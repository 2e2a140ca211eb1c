import { unlink, type FileHandle } from 'node:fs/promises';
import type { BlobBackend, BlobKey, StoredBlob } from '../store/blob-backend.ts';
import { blobKept, unknownBlob } from '../store/blob-errors.ts';
import { CHUNK_BYTES } from '../store/blob-store.ts';
import { completeDirectory, createDirectory, keptDirectory, resolvePaths, uploadsDirectory, type BlobPaths } from './blob-paths.ts';
import { ignoreMissing, toServiceError, translateErrors } from './file-errors.ts';
import { HEADER_BYTES, openForReading, readBlobFile } from './file-header.ts';
import { createKeptFiles } from './kept-files.ts';
import { openUpload } from './file-upload.ts';
import { sweepFiles, sweepKept } from './sweep-files.ts';

/**
 * Opens a backend that stores blobs as files. An upload is written in `unfinished/` and linked into `whole/` when it is complete and
 * synced. A kept blob moves to `kept/`. Processes of one machine may share the directory.
 */
export async function openFileBackend(root: string): Promise<BlobBackend> {
  await translateErrors(() => createDirectory(root));
  const kept = createKeptFiles(root);

  async function find(key: BlobKey): Promise<StoredBlob | undefined> {
    const ref = await readBlobFile(resolvePaths(root, key).file, key.id);
    return ref === undefined ? kept.find(key) : { ref };
  }

  async function remove(key: BlobKey): Promise<void> {
    if ((await kept.find(key)) !== undefined) throw blobKept(key.id);
    await ignoreMissing(unlink(resolvePaths(root, key).file));
  }

  return {
    upload: (key, options) => translateErrors(() => openUpload(root, key, options)),
    find: (key) => translateErrors(() => find(key)),
    read: (key, from, to) => read(resolvePaths(root, key), key, { from, to }),
    remove: (key) => translateErrors(() => remove(key)),
    keep: kept.keep,
    release: kept.release,
    listKept: kept.listKept,
    sumKept: kept.sumKept,
    sweep: (now, abandonedBefore) =>
      translateErrors(async () => {
        const directories = { uploads: uploadsDirectory(root), complete: completeDirectory(root) };
        const removed = await sweepFiles(directories, now, abandonedBefore);
        return removed + (await sweepKept(keptDirectory(root), now, abandonedBefore));
      }),
    close: () => Promise.resolve(),
  };
}

async function* read(
  paths: BlobPaths,
  { id }: BlobKey,
  { from, to }: { from: number; to: number },
): AsyncGenerator<Uint8Array, void, void> {
  const file = await translateErrors(async () => (await openForReading(paths.file)) ?? (await openForReading(paths.keptFile)));
  if (file === undefined) throw unknownBlob(id);
  try {
    yield* readChunks(file, HEADER_BYTES + from, HEADER_BYTES + to);
  } finally {
    await file.close();
  }
}

/** Yields the bytes between two positions; fewer if the file ends before. */
async function* readChunks(file: FileHandle, from: number, to: number): AsyncGenerator<Uint8Array, void, void> {
  for (let position = from; position < to;) {
    const { bytesRead, buffer } = await file
      .read(Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, to - position)), { position })
      .catch((error: unknown) => {
        throw toServiceError(error);
      });
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
