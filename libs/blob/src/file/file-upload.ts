import { constants } from 'node:fs';
import { link, open, stat, unlink } from 'node:fs/promises';
import type { BlobRef } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { BlobKey, Upload, UploadOptions } from '../store/blob-backend.ts';
import { blobExists } from '../store/blob-errors.ts';
import { resolvePaths, syncDirectory, withDirectory } from './blob-paths.ts';
import { getErrorCode, ignoreMissing, translateErrors } from './file-errors.ts';
import { HEADER_BYTES, writeAll, writeHeader } from './file-header.ts';

const PRIVATE_FILE = 0o600;
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** Creates a file of its own for the upload. The header is written by `commit`. */
export async function openUpload(root: string, key: BlobKey, { contentType, expiresAt }: UploadOptions): Promise<Upload> {
  const paths = resolvePaths(root, key);
  const temporary = `${paths.upload}.${mintId('upload')}`;
  const file = await withDirectory(paths.uploadDirectory, () => open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, PRIVATE_FILE));
  let size = 0;

  async function commit(sha256: string): Promise<BlobRef> {
    if ((await ignoreMissing(stat(paths.keptFile))) !== undefined) throw blobExists(key.id);
    const header = { contentType, expiresAt, savedAt: Date.now(), sha256 };
    await writeHeader(file, header);
    // The sweep compares the modification time first and reads the header only if it has passed.
    await file.utimes(new Date(), new Date(expiresAt));
    await file.sync();
    await withDirectory(paths.directory, () => link(temporary, paths.file)).catch((error: unknown) => {
      throw getErrorCode(error) === 'EEXIST' ? blobExists(key.id) : error;
    });
    await syncDirectory(paths.directory);
    await discard();
    return { id: key.id, size, ...header };
  }

  async function discard(): Promise<void> {
    await file.close();
    await ignoreMissing(unlink(temporary));
  }

  return {
    append: (bytes) =>
      translateErrors(async () => {
        await writeAll(file, bytes, HEADER_BYTES + size);
        size += bytes.length;
      }),
    commit: (sha256) => translateErrors(() => commit(sha256)),
    discard: () => translateErrors(discard),
  };
}
