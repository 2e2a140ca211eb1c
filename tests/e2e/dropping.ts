import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A proxy that drops responses. */
export interface Dropping extends AsyncDisposable {
  url: string;
  /** Drops the next responses: reads each to its end, then closes the client's connection. */
  drop(answers: number): void;
  /** Received requests by path. */
  readonly seen: readonly string[];
}

export async function startDropping(target: string): Promise<Dropping> {
  const seen: string[] = [];
  let remaining = 0;
  const server = createServer((request, response) => {
    seen.push(request.url ?? '');
    const lost = remaining > 0;
    if (lost) remaining -= 1;
    pass(target, request, response, lost).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    drop: (answers) => void (remaining = answers),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function pass(target: string, request: IncomingMessage, response: ServerResponse, lost: boolean): Promise<void> {
  const { method, headers } = request;
  const forwarded = httpRequest(target + (request.url ?? ''), { method, headers: { ...headers, host: new URL(target).host } });
  forwarded.end(await buffer(request));
  const [answer] = (await once(forwarded, 'response')) as [IncomingMessage];
  if (lost) {
    await buffer(answer);
    response.destroy();
  } else {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  }
}
