import { link, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackendKeepOptions, BlobBackend, BlobKey, StoredBlob } from '../store/blob-backend.ts';
import { blobOwned } from '../store/blob-errors.ts';
import type { KeptBlob } from '../store/blob-store.ts';
import { RECORD_SUFFIX, resolvePaths, syncDirectory, tenantKeptDirectory, withDirectory } from './blob-paths.ts';
import { getErrorCode, ignoreMissing, translateErrors } from './file-errors.ts';
import { readBlobFile } from './file-header.ts';
import { listRecords, readRecord, writeRecord } from './kept-records.ts';

export type KeptFiles = Pick<BlobBackend, 'keep' | 'release' | 'listKept' | 'sumKept'> & {
  find(key: BlobKey): Promise<StoredBlob | undefined>;
};

/**
 * Kept blobs as files: a second link to the file of the blob in `kept/`, and beside it a record with owner and expiry time. The link comes
 * first, so that the sweep of temporary blobs cannot delete the bytes while the record is written. A link without a record is not kept,
 * and a sweep deletes it after a crash.
 */
export function createKeptFiles(root: string): KeptFiles {
  async function find(key: BlobKey): Promise<StoredBlob | undefined> {
    const { keptFile, keptRecord } = resolvePaths(root, key);
    const file = await readBlobFile(keptFile, key.id);
    const record = file && (await readRecord(keptRecord));
    return file && record && { ref: { ...file, expiresAt: record.expiresAt }, owner: record.owner };
  }

  async function keep(key: BlobKey, { owner, expiresAt, now }: BackendKeepOptions): Promise<KeptBlob | undefined> {
    const paths = resolvePaths(root, key);
    const before = await find(key);
    if (before !== undefined && before.owner !== owner) throw blobOwned(key.id);
    const ref = before?.ref ?? (await readBlobFile(paths.file, key.id));
    if (ref === undefined) return (await find(key)) === undefined ? undefined : keep(key, { owner, expiresAt, now });
    if (ref.expiresAt <= now) return undefined;
    if (before === undefined && !(await linkFile(paths.file, paths))) return undefined;
    if (!(await writeRecord(paths, { owner, expiresAt, size: ref.size }, before !== undefined)))
      // Another caller kept the blob in the meantime.
      return keep(key, { owner, expiresAt, now });
    await ignoreMissing(unlink(paths.file));
    return { ...ref, owner, expiresAt };
  }

  async function release(key: BlobKey, owner: string): Promise<number | undefined> {
    const { keptFile, keptRecord } = resolvePaths(root, key);
    const record = await readRecord(keptRecord);
    if (record === undefined) return undefined;
    if (record.owner !== owner) throw blobOwned(key.id);
    await ignoreMissing(unlink(keptRecord));
    await ignoreMissing(unlink(keptFile));
    return record.size;
  }

  async function sumKept(tenant: string): Promise<{ blobs: number; bytes: number }> {
    const directory = tenantKeptDirectory(root, tenant);
    const sum = { blobs: 0, bytes: 0 };
    for (const id of await listRecords(directory)) {
      const record = await readRecord(join(directory, `${id}${RECORD_SUFFIX}`));
      if (record === undefined) continue;
      sum.blobs += 1;
      sum.bytes += record.size;
    }
    return sum;
  }

  async function listKept(tenant: string, { owner, after, limit }: { owner: string; after: string; limit: number }): Promise<KeptBlob[]> {
    const page: KeptBlob[] = [];
    const ids = (await listRecords(tenantKeptDirectory(root, tenant))).filter((id) => id > after).toSorted();
    for (const id of ids) {
      if (page.length === limit) break;
      const record = await readRecord(resolvePaths(root, { tenant, id }).keptRecord);
      const blob = record?.owner === owner ? await find({ tenant, id }) : undefined;
      if (blob !== undefined) page.push({ ...blob.ref, owner });
    }
    return page;
  }

  return {
    find,
    keep: (key, options) => translateErrors(() => keep(key, options)),
    release: (key, owner) => translateErrors(() => release(key, owner)),
    sumKept: (tenant) => translateErrors(() => sumKept(tenant)),
    listKept: (tenant, options) => translateErrors(() => listKept(tenant, options)),
  };
}

/** Returns false if the file does not exist any more. */
async function linkFile(file: string, { keptDirectory, keptFile }: { keptDirectory: string; keptFile: string }): Promise<boolean> {
  try {
    await withDirectory(keptDirectory, () => link(file, keptFile));
  } catch (error) {
    if (getErrorCode(error) === 'EEXIST') return true;
    if (getErrorCode(error) === 'ENOENT') return false;
    throw error;
  }
  await syncDirectory(keptDirectory);
  return true;
}
