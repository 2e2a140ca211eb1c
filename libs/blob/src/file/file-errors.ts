import { ServiceError } from '@switchyard/contracts';
import { storeFull, storeUnavailable } from '../store/blob-errors.ts';

const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

export function getErrorCode(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

/** Translates an error of the file system. The message contains no path. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return FULL.has(getErrorCode(error)) ? storeFull(error) : storeUnavailable(error);
}

export async function translateErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toServiceError(error);
  }
}

/** Resolves to undefined if the file does not exist. */
export async function ignoreMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
