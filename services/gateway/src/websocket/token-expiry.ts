import type { Tokens } from '../auth/tokens.ts';
import type { Connections } from './connections.ts';

const LOOK_EVERY_MS = 1_000;
/** The token is no more: expired, revoked, or given another secret. */
export const UNAUTHORIZED = 4001;

interface Given {
  tokens: Pick<Tokens, 'ended'>;
  connections: Connections;
  everyMs?: number;
}

/** Whoever only listens is closed too, a second after the token ended. One timer for all of them. */
export function closeEnded({ tokens, connections, everyMs = LOOK_EVERY_MS }: Given): Disposable {
  const timer = setInterval(() => {
    for (const { socket, caller } of connections.all) if (tokens.ended(caller)) socket.close(UNAUTHORIZED, 'Unauthorized');
  }, everyMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
