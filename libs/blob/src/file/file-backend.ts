import { constants } from 'node:fs';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import type { BlobRef } from '@switchyard/contracts';
import type { BlobBackend, BlobKey } from '../store/blob-backend.ts';
import { unknownBlob } from '../store/blob-errors.ts';
import { CHUNK_BYTES } from '../store/blob-store.ts';
import { completeDirectory, createDirectory, resolvePaths, uploadsDirectory } from './blob-paths.ts';
import { ignoreMissing, toServiceError, translateErrors } from './file-errors.ts';
import { HEADER_BYTES, readHeader } from './file-header.ts';
import { openUpload } from './file-upload.ts';
import { sweepFiles } from './sweep-files.ts';

/**
 * Opens a backend that stores blobs as files. An upload is written in `unfinished/` and linked into `whole/` when it is complete and
 * synced. Processes of one machine may share the directory.
 */
export async function openFileBackend(root: string): Promise<BlobBackend> {
  await translateErrors(() => createDirectory(root));
  return {
    upload: (key, options) => translateErrors(() => openUpload(root, key, options)),
    find: (key) => translateErrors(() => find(resolvePaths(root, key).file, key)),
    read: (key, from, to) => read(resolvePaths(root, key).file, key, { from, to }),
    remove: (key) => translateErrors(() => ignoreMissing(unlink(resolvePaths(root, key).file))),
    sweep: (now, abandonedBefore) =>
      translateErrors(() => sweepFiles({ uploads: uploadsDirectory(root), complete: completeDirectory(root) }, now, abandonedBefore)),
    close: () => Promise.resolve(),
  };
}

async function find(path: string, { id }: BlobKey): Promise<BlobRef | undefined> {
  const file = await openForReading(path);
  if (file === undefined) return undefined;
  try {
    const header = await readHeader(file);
    if (header === undefined) return undefined;
    const { size } = await file.stat();
    return { id, size: size - HEADER_BYTES, ...header };
  } finally {
    await file.close();
  }
}

async function* read(path: string, { id }: BlobKey, { from, to }: { from: number; to: number }): AsyncGenerator<Uint8Array, void, void> {
  const file = await translateErrors(() => openForReading(path));
  if (file === undefined) throw unknownBlob(id);
  try {
    yield* readChunks(file, HEADER_BYTES + from, HEADER_BYTES + to);
  } finally {
    await file.close();
  }
}

function openForReading(path: string): Promise<FileHandle | undefined> {
  return ignoreMissing(open(path, constants.O_RDONLY | constants.O_NOFOLLOW));
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
