/** A range of bytes, both ends inclusive. */
export interface ByteRange {
  from: number;
  to: number;
}

/** Parses a `Range` header for a body of the given size. Undefined means the whole body, also for invalid and multiple ranges. */
export function rangeOf(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '')
    return last === '0'.repeat(last.length) || size === 0 ? 'unsatisfiable' : { from: Math.max(size - Number(last), 0), to: size };
  const from = Number(first);
  if (last !== '' && Number(last) < from) return undefined;
  if (from >= size) return 'unsatisfiable';
  return { from, to: last === '' ? size : Math.min(Number(last) + 1, size) };
}
