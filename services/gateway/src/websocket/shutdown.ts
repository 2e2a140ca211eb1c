import { setTimeout as delay } from 'node:timers/promises';
import type { Connections } from './connections.ts';

const CLOSE_TIMEOUT_MS = 500;
const CLOSE_GOING_AWAY = 1001;

/** Closes all WebSockets with 1001 and terminates those that do not close in time. */
export async function closeWebSockets({ all }: Connections): Promise<void> {
  const closed = [...all].map(({ socket }) => new Promise<void>((resolve) => void socket.once('close', () => resolve())));
  for (const { socket } of all) socket.close(CLOSE_GOING_AWAY, 'Server shutting down');
  await Promise.race([Promise.all(closed), delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
  for (const { socket } of all) socket.terminate();
}
