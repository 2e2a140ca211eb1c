const MAX_PATH_BYTES = 4_096;
const MAX_SEGMENT_BYTES = 255;
const MAX_SEGMENTS = 64;

/** A path that could lead outside its directory. The message names the reason, and no path of the machine. */
export class UnsafePathError extends Error {
  readonly code = 'UNSAFE_PATH';

  constructor(reason: string, cause?: unknown) {
    super(`The path ${reason}.`, cause === undefined ? undefined : { cause });
    this.name = 'UnsafePathError';
  }
}

/**
 * Splits a relative path into its segments. Throws an `UnsafePathError` for every spelling that names another place on some system. The
 * path is not decoded: a caller that receives an encoded path decodes it once, before this check.
 */
export function splitRelativePath(path: string): string[] {
  if (path === '') throw new UnsafePathError('is empty');
  if (!path.isWellFormed()) throw new UnsafePathError('is not valid Unicode');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw new UnsafePathError(`is longer than ${MAX_PATH_BYTES} bytes`);
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f]/.test(path)) throw new UnsafePathError('has a control character');
  if (path.includes('\\')) throw new UnsafePathError('has a backslash');
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) throw new UnsafePathError('is absolute');
  const segments = path.split('/');
  if (segments.length > MAX_SEGMENTS) throw new UnsafePathError(`has more than ${MAX_SEGMENTS} segments`);
  for (const segment of segments) {
    if (segment === '') throw new UnsafePathError('has an empty segment');
    if (segment === '.' || segment === '..') throw new UnsafePathError(`has the segment ${segment}`);
    if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES) throw new UnsafePathError(`has a segment longer than ${MAX_SEGMENT_BYTES} bytes`);
  }
  return segments;
}
