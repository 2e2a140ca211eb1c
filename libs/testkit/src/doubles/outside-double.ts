import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mapHosts } from '@switchyard/egress/testing';

export type OutsideHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** One HTTP server for all hosts of the outside, which requests through egress reach by their names. */
export interface OutsideDouble extends AsyncDisposable {
  /** The requests that arrived, as `<method> <host><path>`. */
  readonly requests: readonly string[];
  readonly port: number;
}

/** Serves these hosts; another path or host gets 404. A host is reached with `http:` and its port 80. */
export async function serveOutside(hosts: Readonly<Record<string, OutsideHandler>>): Promise<OutsideDouble> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const host = (request.headers.host ?? '').replace(/:\d+$/, '');
    requests.push(`${request.method} ${host}${request.url}`);
    const handle = hosts[host];
    if (handle) handle(request, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const mapped = mapHosts(Object.fromEntries(Object.keys(hosts).map((host) => [host, { port }])));
  return {
    requests,
    port,
    async [Symbol.asyncDispose]() {
      mapped[Symbol.dispose]();
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
