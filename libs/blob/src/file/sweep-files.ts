import { opendir, open, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, ifThere } from './file-errors.ts';
import { readHead } from './file-header.ts';

export interface Directories {
  unfinished: string;
  whole: string;
}

/** Walks through everything, one file after the other: a sweep takes its time and little else. Gives how many it removed. */
export async function sweepFiles({ unfinished, whole }: Directories, now: number, abandoned: number): Promise<number> {
  let removed = 0;
  for await (const path of filesIn(unfinished)) {
    const file = await ifThere(stat(path));
    if (file !== undefined && file.mtimeMs <= abandoned) removed += await removeFile(path);
  }
  for await (const path of filesIn(whole)) {
    const file = await ifThere(stat(path));
    if (file !== undefined && file.mtimeMs <= now && (await isExpired(path, now))) removed += await removeFile(path);
  }
  return removed;
}

/** In the directories of all tenants, which are removed when they are empty. */
async function* filesIn(directory: string): AsyncGenerator<string, void, void> {
  for await (const tenant of entriesOf(directory)) {
    if ((await ifThere(stat(tenant)))?.isDirectory() !== true) continue;
    yield* entriesOf(tenant);
    await rmdir(tenant).catch((error: unknown) => {
      if (!IN_USE.has(codeOf(error))) throw error;
    });
  }
}

const IN_USE: ReadonlySet<unknown> = new Set(['ENOTEMPTY', 'EEXIST', 'ENOENT']);

async function* entriesOf(directory: string): AsyncGenerator<string, void, void> {
  const entries = await ifThere(opendir(directory));
  if (entries === undefined) return;
  for await (const { name } of entries) yield join(directory, name);
}

/** The time of a file is when it expires, but a copy may have another one: what counts is what the file says. */
async function isExpired(path: string, now: number): Promise<boolean> {
  const file = await ifThere(open(path));
  if (file === undefined) return false;
  try {
    const head = await readHead(file);
    return head === undefined || head.expiresAt <= now;
  } finally {
    await file.close();
  }
}

async function removeFile(path: string): Promise<number> {
  await ifThere(unlink(path));
  return 1;
}
