import { opendir, open, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { RECORD_SUFFIX } from './blob-paths.ts';
import { getErrorCode, ignoreMissing } from './file-errors.ts';
import { readHeader } from './file-header.ts';
import { readRecord } from './kept-records.ts';

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

/** Processes that keep a blob again shortly before it expires have this long to write its record. */
const KEPT_GRACE_MS = 60_000;

/** Deletes kept blobs whose time has passed, and what a crash left without a record. Returns the number of deleted blobs. */
export async function sweepKept(directory: string, now: number, abandonedBefore: number): Promise<number> {
  let removed = 0;
  for await (const path of listFiles(directory)) {
    if (path.endsWith(RECORD_SUFFIX)) {
      const record = await readRecord(path);
      if (record === undefined || record.expiresAt > now - KEPT_GRACE_MS) continue;
      removed += await removeFile(path);
      await removeFile(path.slice(0, -RECORD_SUFFIX.length));
    } else if (((await ignoreMissing(stat(path)))?.ctimeMs ?? Infinity) <= abandonedBefore) {
      // Links and unfinished records of a process that crashed.
      if ((await readRecord(`${path}${RECORD_SUFFIX}`)) === undefined) removed += await removeFile(path);
    }
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
