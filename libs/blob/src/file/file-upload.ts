import { constants } from 'node:fs';
import { open, rename, unlink, type FileHandle } from 'node:fs/promises';
import type { BlobRef } from '@switchyard/contracts';
import type { Upload, UploadFacts } from '../store/blob-backend.ts';
import { takenOver } from '../store/blob-errors.ts';
import { codeOf, explained, ifThere } from './file-errors.ts';
import { HEAD_BYTES, readHead, writeAll, writeHead } from './file-header.ts';
import { madeIn, syncDirectory, type Places } from './blob-paths.ts';
import { readPieces } from './read-pieces.ts';

const PRIVATE = 0o600;
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = constants;

/** The file of an unfinished upload: taken up as it is, or made. */
export async function openUpload(id: string, places: Places, facts: UploadFacts): Promise<Upload> {
  const file = await madeIn(places.unfinishedDirectory, () => openOrMake(places.unfinished));
  try {
    const { size } = await file.stat();
    const kept = size < HEAD_BYTES ? undefined : await readHead(file);
    if (kept === undefined) {
      await file.truncate(0);
      await writeHead(file, facts);
    }
    return uploadIn({ id, places, file }, kept ?? facts, kept === undefined ? 0 : size - HEAD_BYTES);
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openOrMake(path: string): Promise<FileHandle> {
  try {
    return await open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, PRIVATE);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return open(path, O_RDWR | O_NOFOLLOW);
  }
}

interface Opened {
  id: string;
  places: Places;
  file: FileHandle;
}

function uploadIn({ id, places, file }: Opened, { contentType, expiresAt }: UploadFacts, there: number): Upload {
  let offset = there;

  /** Written under its own name only once the disk has it, and the disk has the name before anybody is told. */
  async function commit(sha256: string): Promise<BlobRef> {
    const savedAt = Date.now();
    await writeHead(file, { contentType, expiresAt, savedAt, sha256 });
    // What sweeps looks at the time of a file first.
    await file.utimes(new Date(), new Date(expiresAt));
    await file.sync();
    await madeIn(places.wholeDirectory, () => rename(places.unfinished, places.whole)).catch((error: unknown) => {
      throw codeOf(error) === 'ENOENT' ? takenOver(id) : error;
    });
    await syncDirectory(places.wholeDirectory);
    await file.close();
    return { id, size: offset, sha256, contentType, expiresAt, savedAt };
  }

  return {
    get offset() {
      return offset;
    },
    contents: () => readPieces(file, HEAD_BYTES, HEAD_BYTES + offset),
    append: (bytes) =>
      explained(async () => {
        await writeAll(file, bytes, HEAD_BYTES + offset);
        offset += bytes.length;
      }),
    commit: (sha256) => explained(() => commit(sha256)),
    discard: () =>
      explained(async () => {
        await file.close();
        await ifThere(unlink(places.unfinished));
      }),
    release: () => file.close(),
  };
}
