import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

interface Behaviour {
  http?: (request: IncomingMessage, response: ServerResponse, body: string) => void;
  socket?: (socket: WebSocket, request: IncomingMessage) => void;
}

/** Starts a server on a free port with the handlers of the test. */
export async function startServer({ http, socket }: Behaviour) {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    http?.(request, response, Buffer.concat(chunks).toString());
  });
  const sockets = new WebSocketServer({ server, path: '/ws' });
  sockets.on('connection', (each, request) => socket?.(each, request));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const each of sockets.clients) each.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export interface Call {
  jsonrpc: string;
  id?: number;
  method: string;
  params: Record<string, unknown>;
}

export function answer(call: Call, result: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id: call.id, result });
}

export const PONG = { pong: true, ts: 1 };
export const FAST = { firstMs: 1, capMs: 5 };
