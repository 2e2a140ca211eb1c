import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

/** The part of the driver's connection class that is used here. */
interface DriverConnection {
  readonly closed: boolean;
  command(namespace: { db: string }, command: object, options: object): Promise<object>;
}
type ConnectionClass = new (socket: Socket, options: object) => DriverConnection;

// The driver accepts another class (`connectionType`) but does not export its own.
const { Connection } = createRequire(import.meta.url)('mongodb/lib/cmap/connection.js') as { Connection: ConnectionClass };

/**
 * Ends commands that would wait forever on a destroyed socket. After a write that the socket does not accept at once, the driver waits
 * for `drain` or `error`; a destroyed socket emits neither. A monitor that waits this way never finds its server again. The upstream
 * report is in `docs/upstream/mongodb-closed-socket.md`. A test fails when the driver no longer needs this class.
 */
export class ClosingConnection extends Connection {
  constructor(socket: Socket, options: object) {
    super(socket, options);
    // Runs after the driver's own listener, which records why the connection was closed.
    socket.once('close', () => socket.emit('drain'));
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    socket.write = (...args: unknown[]): boolean => {
      if (socket.destroyed) throw new Error('the socket is closed');
      return write(...args);
    };
  }
}

/** Client options that use the class. */
export const CONNECTION_OPTIONS: object = { connectionType: ClosingConnection };
