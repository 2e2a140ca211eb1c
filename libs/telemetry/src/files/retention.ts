import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { agedAt } from './rotated-file-name.ts';

const DAY_MS = 86_400_000;
const UNFINISHED = '.gz.new';

/** Retention of rotated copies. */
export interface RetentionOptions {
  maxFiles: number;
  maxAgeDays: number;
}

interface Sweeping extends RetentionOptions {
  compress: boolean;
  /** Whether a copy still has pending writes; such a copy is not compressed. */
  inUse: (path: string) => boolean;
}

/**
 * Deletes copies beyond the newest `maxFiles`, copies older than `maxAgeDays` and incomplete files of crashed processes. Compresses
 * the other copies if `compress` is true. Never touches the live file or files of others.
 */
export async function sweep(file: string, { maxFiles, maxAgeDays, compress, inUse }: Sweeping): Promise<void> {
  const [directory, base] = [dirname(file), basename(file)];
  const names = await readdir(directory);
  const unfinished = names.filter((name) => name.endsWith(UNFINISHED) && agedAt(base, name.slice(0, -UNFINISHED.length)) !== undefined);
  const copies = names.flatMap((name) => {
    const at = agedAt(base, name);
    return at === undefined ? [] : [{ name, at }];
  });
  const oldest = Date.now() - maxAgeDays * DAY_MS;
  const newestFirst = copies.toSorted((a, b) => b.at - a.at || b.name.localeCompare(a.name, 'en', { numeric: true }));
  const keptItems = newestFirst.slice(0, maxFiles).filter(({ at }) => at >= oldest);
  const gone = newestFirst.filter((copy) => !keptItems.includes(copy)).map(({ name }) => name);
  await Promise.all([...unfinished, ...gone].map((name) => rm(join(directory, name), { force: true })));
  const plain = keptItems.map(({ name }) => join(directory, name)).filter((path) => !path.endsWith('.gz') && !inUse(path));
  if (compress) for (const path of plain) await compressFile(path);
}

/** Compresses atomically: deletes the copy after the compressed file is complete. */
async function compressFile(path: string): Promise<void> {
  await pipeline(createReadStream(path), createGzip(), createWriteStream(`${path}${UNFINISHED}`, { mode: 0o600, flush: true }));
  await rename(`${path}${UNFINISHED}`, `${path}.gz`);
  await rm(path);
}
