import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { Recording } from './recordings.ts';

/** Starts a server that replays a recording, one write per tick. */
export async function startPlayer({ contentType = 'text/event-stream', writes }: Pick<Recording, 'contentType' | 'writes'>) {
  const server = createServer({ noDelay: true }, (request, response) => {
    void (async () => {
      for await (const _ of request);
      response.writeHead(200, { 'content-type': contentType });
      for (const write of writes) {
        response.write(write);
        await nextTick();
        await nextTick();
      }
      response.end();
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
