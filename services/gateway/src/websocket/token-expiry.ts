import type { Tokens } from '../auth/tokens.ts';
import type { Connections } from './connections.ts';

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
