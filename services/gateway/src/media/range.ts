/** A range of bytes. `end` is exclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Parses a `Range` header for a body of the given size. Undefined means the whole body, also for invalid and multiple ranges. */
export function parseRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '')
    return last === '0'.repeat(last.length) || size === 0 ? 'unsatisfiable' : { start: Math.max(size - Number(last), 0), end: size };
  const start = Number(first);
  if (last !== '' && Number(last) < start) return undefined;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}
