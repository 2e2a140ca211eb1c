import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { sections } from '@switchyard/contracts';
import { createEgress, type Egress, type EgressOptions } from './egress.ts';

export interface SecuritySettings {
  allowHosts?: string[];
  allowedNetHosts?: string[];
}

/** Opens an egress with these settings. */
export function openEgress(
  { allowHosts = [], allowedNetHosts = [] }: SecuritySettings = {},
  reach: EgressOptions['reach'] = 'public',
): Egress {
  const security = sections.security.parse({ egress: { allowHosts }, permission: { allowedNetHosts } });
  return createEgress({ settings: () => security, reach });
}

export interface Listener extends AsyncDisposable {
  port: number;
  /** The request targets that were received, with their headers. */
  requests: { url: string; method: string; headers: Record<string, unknown> }[];
}

/** An HTTP server on 127.0.0.1. Each response closes its connection, so that every request dials. */
export async function listen(handle: RequestListener): Promise<Listener> {
  const requests: Listener['requests'] = [];
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? '', method: request.method ?? '', headers: request.headers });
    response.setHeader('connection', 'close');
    handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export interface SilentListener extends AsyncDisposable {
  port: number;
  connections: number;
}

/** A listener on every IPv4 and IPv6 address of this machine that counts connections. A test expects none. */
export async function listenEverywhere(): Promise<SilentListener> {
  const server = createTcpServer((socket) => {
    listener.connections += 1;
    socket.destroy();
  });
  const listener = { port: 0, connections: 0, [Symbol.asyncDispose]: async () => void server.close() };
  // Without a host, Node listens on :: for both families, or on 0.0.0.0 where IPv6 is off.
  server.listen(0);
  await once(server, 'listening');
  listener.port = (server.address() as AddressInfo).port;
  return listener;
}
