import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Call } from './http.ts';

// The minimal HTTP response with Node alone, for a body that arrives together with its headers.
function answer(request: IncomingMessage, response: ServerResponse): void {
  const body = request.read() as Buffer;
  const { id } = JSON.parse(body.toString('utf8')) as Call;
  const text = `{"jsonrpc":"2.0","result":{"pong":true,"ts":${Date.now()}},"id":${JSON.stringify(id)}}`;
  response.writeHead(200, ['content-type', 'application/json; charset=utf-8', 'content-length', String(text.length)]).end(text, 'latin1');
}

const server = createServer((request, response) => process.nextTick(answer, request, response));
server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
