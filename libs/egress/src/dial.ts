import { connect, type Socket } from 'node:net';
import { checkDestination, createCheckedLookup, getDialPort, type AddressChecks, type Destination } from './connector.ts';

/** Opens a TCP connection to a checked address. Rejects with the refusal, or with the error of the network. */
export function dial(destination: Destination, checks: AddressChecks, timeoutMs: number): Promise<Socket> {
  checkDestination(destination, checks);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const lookup = createCheckedLookup(destination, checks);
  const socket = connect({ host: destination.hostname, port: getDialPort(destination), lookup });
  const onTimeout = (): void => void socket.destroy(new Error(`no connection within ${timeoutMs} ms`));
  socket.setTimeout(timeoutMs, onTimeout);
  socket.once('error', reject);
  socket.once('connect', () => {
    socket.setTimeout(0);
    socket.off('timeout', onTimeout);
    socket.off('error', reject);
    resolve(socket);
  });
  return promise;
}
