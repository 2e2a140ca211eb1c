import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** One response: its writes, each in a separate event-loop turn, and its ending. */
export interface NativeReply {
  status?: number;
  headers?: Readonly<Record<string, string>>;
  writes: readonly (string | Buffer)[];
  /** By default the response ends normally. */
  ending?: 'cut' | 'stall';
}

type Reply = NativeReply | ((request: NativeRequest) => NativeReply);

export interface NativeRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** A server that sends scripted responses in any wire format. */
export interface NativeUpstream extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly NativeRequest[];
  /** Resolves after the first request. */
  readonly pending: Promise<void>;
  /** Resolves when the client closes a connection before the response is complete. */
  readonly abandoned: Promise<void>;
}

/** Each request takes the next reply; the last one is repeated. A reply may be a function of the request. */
export async function startNativeUpstream(...script: readonly [Reply, ...Reply[]]): Promise<NativeUpstream> {
  const replies: Reply[] = [...script];
  const requests: NativeRequest[] = [];
  const asked = Promise.withResolvers<void>();
  const abandoned = Promise.withResolvers<void>();
  const server = createServer({ noDelay: true }, (request, response) => {
    response.on('close', () => {
      if (!response.writableEnded) abandoned.resolve();
    });
    void (async () => {
      const body = await text(request);
      const { method = '', url: path = '', headers } = request;
      const made = { method, path, headers, body: body === '' ? {} : (JSON.parse(body) as Record<string, unknown>) };
      requests.push(made);
      asked.resolve();
      const next = (replies.length > 1 ? replies.shift() : replies[0]) ?? script[0];
      const reply = typeof next === 'function' ? next(made) : next;
      response.writeHead(reply.status ?? 200, { 'content-type': 'text/event-stream', ...reply.headers });
      for (const write of reply.writes) {
        response.write(write);
        await nextTurn();
        await nextTurn();
      }
      if (reply.ending === 'cut') response.destroy();
      else if (reply.ending === 'stall') response.flushHeaders();
      else response.end();
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    pending: asked.promise,
    abandoned: abandoned.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
