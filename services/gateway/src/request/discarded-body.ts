import type { IncomingMessage } from 'node:http';

/** Bytes of a refused body that are still read, so that the client receives the refusal instead of a closed connection. */
export const MAX_DISCARDED_BYTES = 16 * 1024 * 1024;
/** A body may have MIN_PARTS parts and one more per BYTES_PER_PART bytes, because a million tiny parts cost far more than their bytes. */
const MIN_PARTS = 4_096;
const BYTES_PER_PART = 64;

export function hasTooManyParts(parts: number, size: number): boolean {
  return parts > MIN_PARTS + size / BYTES_PER_PART;
}

/** Reads and discards the rest of a body. Destroys the request when the body exceeds MAX_DISCARDED_BYTES. */
export function discardBody(payload: IncomingMessage): void {
  const { headers } = payload;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || payload.complete || payload.destroyed) return;
  let size = 0;
  let parts = 0;
  payload.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_DISCARDED_BYTES || hasTooManyParts(++parts, size)) payload.destroy();
  });
  payload.on('error', () => undefined); // the client disconnected
}
