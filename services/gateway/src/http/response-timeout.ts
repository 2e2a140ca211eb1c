import type { ServerResponse } from 'node:http';

/** Shorter responses are passed to the kernel at once and hold no memory here. */
const MIN_TIMED_BYTES = 16_384;
const STALL_TIMEOUT_MS = 30_000;

/** Closes the connection of a large response when the client reads nothing for STALL_TIMEOUT_MS. */
export function setStallTimeout(response: Pick<ServerResponse, 'setTimeout'>, length: number, stallMs = STALL_TIMEOUT_MS): void {
  if (length >= MIN_TIMED_BYTES) response.setTimeout(stallMs);
}
