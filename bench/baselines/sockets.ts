import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

export type Send = (data: Uint8Array) => void;

/** Serves WebSockets with a minimal `ws` server and prints its URL. */
export function serveSockets(answer: (message: Buffer, send: Send) => void): void {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false, clientTracking: false });
  server.on('connection', (socket) => {
    const send: Send = (data) => socket.send(data, { binary: false });
    socket.on('message', (message) => answer(message as Buffer, send));
  });
  server.on('listening', () => console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}
