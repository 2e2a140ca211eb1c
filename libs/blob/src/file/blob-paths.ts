import { createHash } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BlobKey } from '../store/blob-backend.ts';
import { codeOf } from './file-errors.ts';

const PRIVATE = 0o700;
const TENANT_DIGITS = 32;
const TRIES = 3;

/** Where a blob is while it is written, and once it is whole. */
export interface Places {
  unfinishedDirectory: string;
  unfinished: string;
  wholeDirectory: string;
  whole: string;
}

export function unfinishedIn(root: string): string {
  return join(root, 'unfinished');
}

export function wholeIn(root: string): string {
  return join(root, 'whole');
}

/** What a tenant is called may be anything: its directory is named by a hash of it. Ids are checked to be letters and digits. */
export function tenantDirectory(parent: string, tenant: string): string {
  return join(parent, createHash('sha256').update(tenant).digest('hex').slice(0, TENANT_DIGITS));
}

export function placesOf(root: string, { tenant, id }: BlobKey): Places {
  const unfinishedDirectory = tenantDirectory(unfinishedIn(root), tenant);
  const wholeDirectory = tenantDirectory(wholeIn(root), tenant);
  return { unfinishedDirectory, unfinished: join(unfinishedDirectory, id), wholeDirectory, whole: join(wholeDirectory, id) };
}

/** Does it in a directory that is made if it is not there; a sweep may take an empty one away in between. */
export async function madeIn<T>(directory: string, work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    await makeDirectory(directory);
    try {
      return await work();
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || tried === TRIES) throw error;
    }
  }
}

/** With everything above it; what is new is on the disk when it resolves. */
export async function makeDirectory(directory: string): Promise<void> {
  const first = await mkdir(directory, { recursive: true, mode: PRIVATE });
  if (first === undefined) return;
  for (let made = directory; made.length >= first.length; made = dirname(made)) await syncDirectory(dirname(made));
}

/** A name is in its directory for good only once the directory is on the disk. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
