import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { connectHop } from './hop.ts';
import { subjectName } from './http.ts';

// The obvious implementation: sends each message to each client in a loop.
const clients = new Set<WebSocket>();
const connection = await connectHop();
connection.subscribe(subjectName(), {
  callback(_error, message) {
    const text = message.string();
    for (const client of clients) client.send(text);
  },
});
await connection.flush();
const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false, clientTracking: false });
server.on('connection', (socket) => {
  clients.add(socket);
  socket.on('close', () => clients.delete(socket));
});
server.on('listening', () => console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`));
