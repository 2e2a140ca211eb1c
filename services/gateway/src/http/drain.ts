import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Connections } from '../websocket/connections.ts';
import type { PlainSockets } from './connection-limits.ts';

const SOCKETS_CLOSE_MS = 500;
export const REQUESTS_FINISH_MS = 10_000;
/** For a first request that is on its way. */
const SILENT_MS = 500;
/** For the answers that say that time is up. */
const LAST_WORDS_MS = 500;
const GOING_AWAY = 1001;

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

/** Tells WebSockets to go elsewhere, and ends those that do not. */
export async function closeSockets({ all }: Connections): Promise<void> {
  const gone = [...all].map(({ socket }) => new Promise<void>((resolve) => void socket.once('close', () => resolve())));
  for (const { socket } of all) socket.close(GOING_AWAY, 'Server shutting down');
  await Promise.race([Promise.all(gone), delay(SOCKETS_CLOSE_MS, undefined, { ref: false })]);
  for (const { socket } of all) socket.terminate();
}
