import { opendir, open, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { getErrorCode, ignoreMissing } from './file-errors.ts';
import { readHeader } from './file-header.ts';

export interface BlobDirectories {
  uploads: string;
  complete: string;
}

/** Deletes expired blobs and abandoned uploads, one file after the other. Returns the number of deletions. */
export async function sweepFiles({ uploads, complete }: BlobDirectories, now: number, abandonedBefore: number): Promise<number> {
  let removed = 0;
  for await (const path of listFiles(uploads)) {
    const file = await ignoreMissing(stat(path));
    if (file !== undefined && file.mtimeMs <= abandonedBefore) removed += await removeFile(path);
  }
  for await (const path of listFiles(complete)) {
    const file = await ignoreMissing(stat(path));
    if (file !== undefined && file.mtimeMs <= now && (await isExpired(path, now))) removed += await removeFile(path);
  }
  return removed;
}

/** Lists the files of all tenants and deletes empty tenant directories. */
async function* listFiles(directory: string): AsyncGenerator<string, void, void> {
  for await (const tenant of listEntries(directory)) {
    if ((await ignoreMissing(stat(tenant)))?.isDirectory() !== true) continue;
    yield* listEntries(tenant);
    await rmdir(tenant).catch((error: unknown) => {
      if (!NOT_REMOVABLE.has(getErrorCode(error))) throw error;
    });
  }
}

const NOT_REMOVABLE: ReadonlySet<unknown> = new Set(['ENOTEMPTY', 'EEXIST', 'ENOENT']);

async function* listEntries(directory: string): AsyncGenerator<string, void, void> {
  const entries = await ignoreMissing(opendir(directory));
  if (entries === undefined) return;
  for await (const { name } of entries) yield join(directory, name);
}

/** Reads the expiry time from the header, because copying a file may change its modification time. */
async function isExpired(path: string, now: number): Promise<boolean> {
  const file = await ignoreMissing(open(path));
  if (file === undefined) return false;
  try {
    const header = await readHeader(file);
    return header === undefined || header.expiresAt <= now;
  } finally {
    await file.close();
  }
}

async function removeFile(path: string): Promise<number> {
  await ignoreMissing(unlink(path));
  return 1;
}
