import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Dispatcher, Pool } from 'undici';

export const completionPath = '/v1/chat/completions';

export function upstreamUrl(): string {
  const url = process.env['UPSTREAM_URL'];
  if (url === undefined) throw new Error('UPSTREAM_URL is not set');
  return url;
}

/** Keeps bodies as text, because the baselines do not parse them. */
export function readRaw(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body));
}

const request = (body: string): Dispatcher.DispatchOptions => ({
  path: completionPath,
  method: 'POST',
  headers: ['content-type', 'application/json'],
  body,
});

/** Pipes the response of the upstream to the client. */
export function relay(upstream: Pool, body: string, response: ServerResponse): void {
  upstream.dispatch(request(body), {
    onRequestStart: () => undefined,
    onResponseStart(_controller, status, headers) {
      const { 'content-type': type = '', 'content-length': length } = headers;
      response.writeHead(status, { 'content-type': String(type), ...(length === undefined ? {} : { 'content-length': String(length) }) });
    },
    onResponseData: (_controller, bytes) => void response.write(bytes),
    onResponseEnd: () => void response.end(),
    onResponseError: () => void response.destroy(),
  });
}

/** Streams the response of the upstream to `onPiece`. */
export function follow(upstream: Pool, body: string, onPiece: (piece: Buffer) => void, onEnd: () => void): void {
  upstream.dispatch(request(body), {
    onRequestStart: () => undefined,
    onResponseStart: () => undefined,
    onResponseData: (_controller, bytes) => onPiece(bytes),
    onResponseEnd: onEnd,
    onResponseError: onEnd,
  });
}

/** Whether the request asks for a stream. The baselines look for one substring only. */
export function isStreamed(body: string): boolean {
  return body.includes('"stream":true');
}

/** Passes the complete response of the upstream to `onAnswer`. */
export function sendRequest(upstream: Pool, body: string, onAnswer: (answer: string) => void): void {
  const parts: Buffer[] = [];
  upstream.dispatch(request(body), {
    onRequestStart: () => undefined,
    onResponseStart: () => undefined,
    onResponseData: (_controller, bytes) => void parts.push(bytes),
    onResponseEnd: () => onAnswer(Buffer.concat(parts).toString()),
    onResponseError: () => onAnswer('{}'),
  });
}
