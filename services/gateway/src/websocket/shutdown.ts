import { setTimeout as delay } from 'node:timers/promises';
import type { Connections } from './connections.ts';

const SOCKETS_CLOSE_MS = 500;
const GOING_AWAY = 1001;

/** Tells WebSockets to go elsewhere, and ends those that do not. */
export async function closeSockets({ all }: Connections): Promise<void> {
  const gone = [...all].map(({ socket }) => new Promise<void>((resolve) => void socket.once('close', () => resolve())));
  for (const { socket } of all) socket.close(GOING_AWAY, 'Server shutting down');
  await Promise.race([Promise.all(gone), delay(SOCKETS_CLOSE_MS, undefined, { ref: false })]);
  for (const { socket } of all) socket.terminate();
}
