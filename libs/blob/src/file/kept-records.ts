import { constants } from 'node:fs';
import { link, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { mintId } from '@switchyard/security';
import { syncDirectory, withDirectory, RECORD_SUFFIX, type BlobPaths } from './blob-paths.ts';
import { getErrorCode, ignoreMissing } from './file-errors.ts';
import { writeAll } from './file-header.ts';

const PRIVATE_FILE = 0o600;
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const TEMPORARY_SUFFIX = '.new';

/** Owner and expiry time of a kept blob. The file of the blob keeps the header that it was written with. */
export interface KeptRecord {
  owner: string;
  expiresAt: number;
  size: number;
}

/** Returns undefined if there is no record, or none that was written by this module. */
export async function readRecord(path: string): Promise<KeptRecord | undefined> {
  const text = await ignoreMissing(readFile(path, 'utf8'));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as KeptRecord;
  } catch {
    return undefined;
  }
}

/** Writes a record durably. Returns false if `replace` is false and another process wrote a record first. */
export async function writeRecord({ keptDirectory, keptRecord }: BlobPaths, record: KeptRecord, replace: boolean): Promise<boolean> {
  const temporary = `${keptRecord}.${mintId('record')}${TEMPORARY_SUFFIX}`;
  const file = await withDirectory(keptDirectory, () => open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, PRIVATE_FILE));
  try {
    await writeAll(file, Buffer.from(JSON.stringify(record)), 0);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    if (replace) await rename(temporary, keptRecord);
    else await link(temporary, keptRecord);
  } catch (error) {
    if (getErrorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await ignoreMissing(unlink(temporary));
  }
  await syncDirectory(keptDirectory);
  return true;
}

/** Yields the ids of the records in the directory of a tenant. */
export async function listRecords(directory: string): Promise<string[]> {
  const names = (await ignoreMissing(readdir(directory))) ?? [];
  return names.filter((name) => name.endsWith(RECORD_SUFFIX)).map((name) => name.slice(0, -RECORD_SUFFIX.length));
}
