import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** One answer: what is written, each at a time of its own, and what happens then. */
export interface NativeReply {
  status?: number;
  headers?: Readonly<Record<string, string>>;
  writes: readonly (string | Buffer)[];
  /** Left out: the response ends. */
  then?: 'cut' | 'stall';
}

export interface NativeRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** A server that answers what it is told to, over a real socket, whatever wire that is in. */
export interface NativeUpstream extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly NativeRequest[];
  /** Resolves when a first request has come. */
  readonly asked: Promise<void>;
  /** Resolves when a connection that was being answered has been given up by the client. */
  readonly abandoned: Promise<void>;
}

/** The next requests meet one reply each; the last is repeated. */
export async function startNativeUpstream(...script: readonly [NativeReply, ...NativeReply[]]): Promise<NativeUpstream> {
  const replies: NativeReply[] = [...script];
  const requests: NativeRequest[] = [];
  const asked = Promise.withResolvers<void>();
  const abandoned = Promise.withResolvers<void>();
  const server = createServer({ noDelay: true }, (request, response) => {
    response.on('close', () => {
      if (!response.writableEnded) abandoned.resolve();
    });
    void (async () => {
      const body = await text(request);
      requests.push({
        path: request.url ?? '',
        headers: request.headers,
        body: body === '' ? {} : (JSON.parse(body) as Record<string, unknown>),
      });
      asked.resolve();
      const reply = (replies.length > 1 ? replies.shift() : replies[0]) ?? script[0];
      response.writeHead(reply.status ?? 200, { 'content-type': 'text/event-stream', ...reply.headers });
      for (const write of reply.writes) {
        response.write(write);
        await nextTurn();
        await nextTurn();
      }
      if (reply.then === 'cut') response.destroy();
      else if (reply.then === 'stall') response.flushHeaders();
      else response.end();
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    asked: asked.promise,
    abandoned: abandoned.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
