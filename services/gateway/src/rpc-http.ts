import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessLog } from './access-log.ts';
import { isJson } from './body.ts';
import type { Dispatcher } from './dispatch.ts';
import type { Edge } from './edge.ts';
import { SECURITY_HEADERS } from './headers.ts';
import { NOT_JSON, refuse } from './refusal.ts';
import { cutIfStalled } from './stall.ts';
import { traceparentOf } from './trace.ts';

/**
 * Node sends a text body in one write with its headers; bytes take two. A short answer goes as Latin-1, a character a byte: the
 * bytes stay what they are, and nothing is decoded or encoded.
 */
const ONE_WRITE_BYTES = 16_384;
const NO_BODY = Buffer.alloc(0);

const HEADERS: readonly string[] = [...Object.entries(SECURITY_HEADERS).flat(), 'cache-control', 'no-store'];

/** JSON-RPC over `POST /rpc`: 200 for every answer, whatever it says; 204 when there is nothing to say. */
export function registerRpc(
  app: FastifyInstance,
  edge: Edge,
  { dispatcher, accessLog }: { dispatcher: Dispatcher; accessLog: AccessLog },
): void {
  function send(request: FastifyRequest, reply: FastifyReply, answer: Buffer | undefined): void {
    // Half of what a short request costs would be spent on building these headers one by one.
    reply.hijack();
    const headers = [...HEADERS, 'x-request-id', request.id];
    if (answer) {
      cutIfStalled(reply.raw, answer.length);
      headers.push('content-type', 'application/json; charset=utf-8', 'content-length', String(answer.length));
      reply.raw.writeHead(200, headers);
      if (answer.length < ONE_WRITE_BYTES) reply.raw.end(answer.toString('latin1'), 'latin1');
      else reply.raw.end(answer);
    } else {
      reply.raw.writeHead(204, headers).end();
    }
    accessLog(request, reply);
  }

  app.post('/rpc', { onRequest: edge.guard({}) }, (request, reply) => {
    if (!isJson(request.headers['content-type'])) {
      refuse(request, reply, NOT_JSON);
      return;
    }
    const body = Buffer.isBuffer(request.body) ? request.body : NO_BODY;
    const from = { caller: request.caller, requestId: request.id, traceparent: traceparentOf(request) };
    let left = false;
    const cancel = dispatcher.message(body, from, (answer) => {
      if (!left) send(request, reply, answer);
    });
    if (reply.sent) return;
    reply.raw.once('close', () => {
      if (reply.sent) return;
      left = true;
      cancel();
    });
  });
}
