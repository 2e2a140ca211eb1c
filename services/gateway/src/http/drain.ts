import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpConnections } from './connection-limits.ts';

export const REQUEST_DRAIN_TIMEOUT_MS = 10_000;
/** Time for a first request on a connection without one. */
const UNUSED_CONNECTION_TIMEOUT_MS = 500;
/** Time to send the error responses of abandoned requests. */
const FINAL_RESPONSE_TIMEOUT_MS = 500;

export interface DrainOptions {
  server: Server;
  sockets: HttpConnections;
  finishMs: number;
  /** Ends the requests that exceed the timeout with an error. */
  abandonRequests: () => void;
}

/** Stops accepting connections and waits for running requests. */
export async function drainRequests({ server, sockets, finishMs, abandonRequests }: DrainOptions): Promise<void> {
  const closed = new Promise<true>((resolve) => server.close(() => resolve(true)));
  // Node keeps a keep-alive connection open after its last response.
  const sweep = setInterval(() => server.closeIdleConnections(), 20);
  const unusedTimer = setTimeout(() => sockets.listUnused().forEach((socket) => socket.destroy()), UNUSED_CONNECTION_TIMEOUT_MS);
  const finished = await Promise.race([closed, delay(finishMs, false, { ref: false })]);
  if (!finished) {
    abandonRequests();
    await Promise.race([closed, delay(FINAL_RESPONSE_TIMEOUT_MS, undefined, { ref: false })]);
  }
  clearTimeout(unusedTimer);
  clearInterval(sweep);
}
