import type { ServerResponse } from 'node:http';

/** Node hands a text of this size to the kernel whole, so there is nothing of it that we would have to keep. */
const LARGE = 16_384;
const STALL_MS = 30_000;

/** An answer that is large and not being read is not kept for ever: the connection breaks when nothing moved for so long. */
export function cutIfStalled(response: Pick<ServerResponse, 'setTimeout'>, length: number, stallMs = STALL_MS): void {
  if (length >= LARGE) response.setTimeout(stallMs);
}
