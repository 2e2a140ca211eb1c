import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

/** The driver's own class of connections, as far as it is used here. */
interface DriverConnection {
  readonly closed: boolean;
  command(namespace: { db: string }, command: object, options: object): Promise<object>;
}
type ConnectionClass = new (socket: Socket, options: object) => DriverConnection;

// The driver lets its class be replaced (`connectionType`) and does not export it.
const { Connection } = createRequire(import.meta.url)('mongodb/lib/cmap/connection.js') as { Connection: ConnectionClass };

/**
 * A connection on which no command waits for ever (decision 0007). The driver waits for `drain` after a write that the socket did not
 * take at once, and a socket that is gone says neither `drain` nor `error`: a look-out caught by it never sees its server again.
 */
export class ClosingConnection extends Connection {
  constructor(socket: Socket, options: object) {
    super(socket, options);
    // After the driver's own listener, which has written down by then why the connection is closed.
    socket.once('close', () => socket.emit('drain'));
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    socket.write = (...args: unknown[]): boolean => {
      if (socket.destroyed) throw new Error('the socket is closed');
      return write(...args);
    };
  }
}

/** For the options of a client. */
export const CONNECTION_OPTIONS: object = { connectionType: ClosingConnection };
