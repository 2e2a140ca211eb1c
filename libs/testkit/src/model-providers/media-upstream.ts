import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** The behaviour of the upstream in one request. */
export type MediaReply =
  | { kind: 'whole'; delayMs?: number }
  /** Announces the whole response, sends half of it and destroys the socket. */
  | { kind: 'cut' }
  /** Accepts the request and sends nothing, or only the headers. */
  | { kind: 'stall'; sendsHeaders?: boolean }
  | { kind: 'status'; status: number; headers?: Readonly<Record<string, string>>; body?: string }
  /** Status 200 with this body instead of the protocol. */
  | { kind: 'body'; type: string; body: string };

export interface MediaUpstreamRequest {
  /** With the query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A server with the protocols of speech and image providers: OpenAI, Groq, Deepgram, ElevenLabs and fal. It can simulate failures. */
export interface MediaUpstream extends AsyncDisposable {
  /** Without a path. */
  readonly origin: string;
  readonly requests: readonly MediaUpstreamRequest[];
  /** Resolves with the next request that arrives. */
  nextRequest(): Promise<MediaUpstreamRequest>;
  /** Sets the behaviour of the next requests. Only requests whose path matches `paths` behave so, all others are answered whole. */
  respond(reply: MediaReply, paths?: RegExp): void;
}

export interface MediaUpstreamOptions {
  transcript?: string;
  /** The sound of every speech request. */
  speech?: Uint8Array;
  /** The image of every image request. */
  image?: Uint8Array;
}

interface Whole {
  type: string;
  body: string | Uint8Array;
}

/** fal answers with the address of a file. The library of fal only fetches public addresses and this one. */
const FAL_FILE = '/files/image.png';

export async function startMediaUpstream(options: MediaUpstreamOptions = {}): Promise<MediaUpstream> {
  const requests: MediaUpstreamRequest[] = [];
  let current: { reply: MediaReply; paths: RegExp } = { reply: { kind: 'whole' }, paths: /^/ };
  let arrival = Promise.withResolvers<MediaUpstreamRequest>();
  const server = createServer((request, response) => {
    buffer(request)
      .then((body) => {
        const path = request.url ?? '';
        const received = { path, headers: request.headers, body };
        requests.push(received);
        arrival.resolve(received);
        arrival = Promise.withResolvers();
        send(response, current.paths.test(path) ? current.reply : { kind: 'whole' }, buildWhole(path, options));
      })
      .catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    nextRequest: () => arrival.promise,
    respond: (reply, paths = /^/) => {
      current = { reply, paths };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

function buildWhole(
  path: string,
  { transcript = 'Hello.', speech = Buffer.alloc(0), image = Buffer.alloc(0) }: MediaUpstreamOptions,
): Whole {
  const { pathname } = new URL(path, 'http://upstream');
  const json = (body: object): Whole => ({ type: 'application/json', body: JSON.stringify(body) });
  if (pathname.endsWith('/audio/transcriptions')) return json({ text: transcript, language: 'english', duration: 2 });
  if (pathname.endsWith('/v1/listen')) {
    const channel = { detected_language: 'en', alternatives: [{ transcript, confidence: 1, words: [] }] };
    return json({ metadata: { duration: 2 }, results: { channels: [channel] } });
  }
  if (pathname.endsWith('/audio/speech') || pathname.includes('/text-to-speech/'))
    return { type: 'application/octet-stream', body: speech };
  if (pathname.endsWith('/images/generations')) {
    return json({ created: 1, data: [{ b64_json: Buffer.from(image).toString('base64') }] });
  }
  if (pathname.startsWith('/fal-ai/')) return json({ images: [{ url: `https://fal.run${FAL_FILE}`, content_type: 'image/png' }] });
  if (pathname === FAL_FILE) return { type: 'image/png', body: image };
  throw new Error(`no provider has the path ${pathname}`);
}

function send(response: ServerResponse, reply: MediaReply, { type, body }: Whole): void {
  const bytes = Buffer.from(body);
  const head = { 'content-type': type, 'content-length': bytes.length };
  switch (reply.kind) {
    case 'whole':
      setTimeout(() => response.writeHead(200, head).end(bytes), reply.delayMs ?? 0);
      return;
    case 'cut':
      response.writeHead(200, head).write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
      return;
    case 'stall':
      if (reply.sendsHeaders === true) response.writeHead(200, head).flushHeaders();
      return;
    case 'status':
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers }).end(reply.body ?? '');
      return;
    case 'body':
      response.writeHead(200, { 'content-type': reply.type }).end(reply.body);
  }
}
