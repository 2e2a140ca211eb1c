import { setTimeout as delay } from 'node:timers/promises';
import type { Tokens } from '../auth/tokens.ts';
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

const CHECK_INTERVAL_MS = 1_000;
/** The token has expired or was revoked or rotated. */
export const CLOSE_UNAUTHORIZED = 4001;

interface TokenExpiryOptions {
  tokens: Pick<Tokens, 'hasEnded'>;
  connections: Connections;
  intervalMs?: number;
}

/** Closes idle connections within a second after their token ends. One timer serves all connections. */
export function closeExpiredConnections({ tokens, connections, intervalMs = CHECK_INTERVAL_MS }: TokenExpiryOptions): Disposable {
  const timer = setInterval(() => {
    for (const { socket, caller } of connections.all) if (tokens.hasEnded(caller)) socket.close(CLOSE_UNAUTHORIZED, 'Unauthorized');
  }, intervalMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
