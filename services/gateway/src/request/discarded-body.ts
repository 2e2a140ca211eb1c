import type { IncomingMessage } from 'node:http';

/** How much of a body that is not taken is still read, so that the client hears the refusal instead of a broken connection. */
export const LINGER_BYTES = 16 * 1024 * 1024;
/** A body may have this many parts, and one more for every `BYTES_A_PART` bytes. A million tiny parts cost far more than their bytes. */
const FREE_PARTS = 4_096;
const BYTES_A_PART = 64;

export function tooManyParts(parts: number, size: number): boolean {
  return parts > FREE_PARTS + size / BYTES_A_PART;
}

/** Reads what is left of a body that nobody wants; one that does not end breaks the connection. */
export function discardBody(payload: IncomingMessage): void {
  const { headers } = payload;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || payload.complete || payload.destroyed) return;
  let size = 0;
  let parts = 0;
  payload.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > LINGER_BYTES || tooManyParts(++parts, size)) payload.destroy();
  });
  payload.on('error', () => undefined); // it left, and nobody waits
}
