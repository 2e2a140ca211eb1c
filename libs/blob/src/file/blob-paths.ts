import { createHash } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BlobKey } from '../store/blob-backend.ts';
import { getErrorCode } from './file-errors.ts';

const PRIVATE_DIRECTORY = 0o700;
const TENANT_HASH_DIGITS = 32;
const MAX_ATTEMPTS = 3;

export interface BlobPaths {
  uploadDirectory: string;
  /** Start of the names of the blob's uploads. */
  upload: string;
  directory: string;
  file: string;
  keptDirectory: string;
  /** A second link to the file of a kept blob. */
  keptFile: string;
  /** Owner and expiry time of a kept blob. */
  keptRecord: string;
}

export function uploadsDirectory(root: string): string {
  return join(root, 'unfinished');
}

export function completeDirectory(root: string): string {
  return join(root, 'whole');
}

export function keptDirectory(root: string): string {
  return join(root, 'kept');
}

export const RECORD_SUFFIX = '.json';

export function tenantKeptDirectory(root: string, tenant: string): string {
  return join(keptDirectory(root), hashTenant(tenant));
}

function hashTenant(tenant: string): string {
  return createHash('sha256').update(tenant).digest('hex').slice(0, TENANT_HASH_DIGITS);
}

/** The directory of a tenant is named by a hash, because tenant names may contain any character. Ids are letters and digits. */
export function resolvePaths(root: string, { tenant, id }: BlobKey): BlobPaths {
  const name = hashTenant(tenant);
  const uploadDirectory = join(uploadsDirectory(root), name);
  const directory = join(completeDirectory(root), name);
  const kept = tenantKeptDirectory(root, tenant);
  const keptFile = join(kept, id);
  return {
    uploadDirectory,
    upload: join(uploadDirectory, id),
    directory,
    file: join(directory, id),
    keptDirectory: kept,
    keptFile,
    keptRecord: `${keptFile}${RECORD_SUFFIX}`,
  };
}

/** Runs work in a directory and creates it if necessary. Repeats the work if a sweep deletes the empty directory in between. */
export async function withDirectory<T>(directory: string, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    await createDirectory(directory);
    try {
      return await work();
    } catch (error) {
      if (getErrorCode(error) !== 'ENOENT' || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Creates a directory and its parents, and syncs the entries of new directories. */
export async function createDirectory(directory: string): Promise<void> {
  const first = await mkdir(directory, { recursive: true, mode: PRIVATE_DIRECTORY });
  if (first === undefined) return;
  for (let created = directory; created.length >= first.length; created = dirname(created)) await syncDirectory(dirname(created));
}

/** A new directory entry survives a crash only after its directory is synced. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
