import { constants } from 'node:fs';
import { open, readdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import type { Backend, BlobKey } from '../store/blob-backend.ts';
import type { BlobStatus } from '../store/blob-store.ts';
import { alreadyWhole, unknownBlob } from '../store/blob-errors.ts';
import { explain, explained, ifThere } from './file-errors.ts';
import { HEAD_BYTES, readHead } from './file-header.ts';
import { openUpload } from './file-upload.ts';
import { makeDirectory, placesOf, tenantDirectory, unfinishedIn, wholeIn, type Places } from './blob-paths.ts';
import { readPieces } from './read-pieces.ts';
import { sweepFiles } from './sweep-files.ts';

/**
 * Blobs as files in a directory: one is written in `unfinished/` and moved to `whole/` when it is all there and on the disk. Processes
 * of one machine may share the directory.
 */
export async function openFileBackend(root: string): Promise<Backend> {
  await explained(() => makeDirectory(root));
  return {
    open: (key, facts) =>
      explained(async () => {
        const places = placesOf(root, key);
        if (await isThere(places.whole)) throw alreadyWhole(key.id);
        return openUpload(key.id, places, facts);
      }),
    find: (key) => explained(() => find(placesOf(root, key), key)),
    read: (key, from, to) => read(placesOf(root, key), key, { from, to }),
    remove: (key) =>
      explained(async () => {
        const { unfinished, whole } = placesOf(root, key);
        await ifThere(unlink(unfinished));
        await ifThere(unlink(whole));
      }),
    uploads: (tenant) => explained(async () => (await ifThere(readdir(tenantDirectory(unfinishedIn(root), tenant))))?.length ?? 0),
    sweep: (now, abandoned) => explained(() => sweepFiles({ unfinished: unfinishedIn(root), whole: wholeIn(root) }, now, abandoned)),
    close: () => Promise.resolve(),
  };
}

async function isThere(path: string): Promise<boolean> {
  return (await ifThere(stat(path))) !== undefined;
}

async function openToRead(path: string): Promise<FileHandle | undefined> {
  return ifThere(open(path, constants.O_RDONLY | constants.O_NOFOLLOW));
}

async function find({ unfinished, whole }: Places, { id }: BlobKey): Promise<BlobStatus | undefined> {
  const file = await openToRead(whole);
  if (file === undefined) {
    const part = await ifThere(stat(unfinished));
    return part && { offset: Math.max(part.size - HEAD_BYTES, 0), ref: undefined };
  }
  try {
    const [{ size: bytes }, head] = [await file.stat(), await readHead(file)];
    if (head?.sha256 === undefined) return undefined;
    const { contentType, expiresAt, sha256, savedAt = 0 } = head;
    const size = bytes - HEAD_BYTES;
    return { offset: size, ref: { id, size, sha256, contentType, expiresAt, savedAt } };
  } finally {
    await file.close();
  }
}

async function* read(
  { whole }: Places,
  { id }: BlobKey,
  { from, to }: { from: number; to: number },
): AsyncGenerator<Uint8Array, void, void> {
  const file = await openToRead(whole).catch((error: unknown) => {
    throw explain(error);
  });
  if (file === undefined) throw unknownBlob(id);
  try {
    yield* readPieces(file, HEAD_BYTES + from, HEAD_BYTES + to);
  } finally {
    await file.close();
  }
}
