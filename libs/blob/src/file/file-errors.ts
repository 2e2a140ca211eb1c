import { ServiceError } from '@switchyard/contracts';
import { storeAway, storeFull } from '../store/blob-errors.ts';

const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

/** What the file system says, in our words: no path is in them. */
export function explain(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return FULL.has(codeOf(error)) ? storeFull(error) : storeAway(error);
}

export async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explain(error);
  }
}

/** Nothing where there is no such file. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
