import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { PlainSockets } from './connection-limits.ts';

export const REQUESTS_FINISH_MS = 10_000;
/** For a first request that is on its way. */
const SILENT_MS = 500;
/** For the answers that say that time is up. */
const LAST_WORDS_MS = 500;

export interface Draining {
  server: Server;
  sockets: PlainSockets;
  finishMs: number;
  /** Answers the requests that take longer. */
  giveUp: () => void;
}

/** Stops accepting and lets requests finish. */
export async function drainRequests({ server, sockets, finishMs, giveUp }: Draining): Promise<void> {
  const closed = new Promise<true>((resolve) => server.close(() => resolve(true)));
  // Node lets a kept-alive connection stay open after its last answer; a draining server has no use for it.
  const sweep = setInterval(() => server.closeIdleConnections(), 20);
  const hush = setTimeout(() => sockets.silent().forEach((socket) => socket.destroy()), SILENT_MS);
  const finished = await Promise.race([closed, delay(finishMs, false, { ref: false })]);
  if (!finished) {
    giveUp();
    await Promise.race([closed, delay(LAST_WORDS_MS, undefined, { ref: false })]);
  }
  clearTimeout(hush);
  clearInterval(sweep);
}
