import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RouteDoc } from '../openapi/route-doc.ts';
import type { FastifyInstance, onRequestHookHandler } from 'fastify';

/** The verb of every route here. */
export const VERB = 'POST';

/** Answers a request. Never throws. */
export type FrontHandler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * A `POST` that is answered in front of Fastify, whose routing, hooks and objects are a fifth of what a short call costs the edge
 * (docs/decisions/0014).
 */
export interface FrontRoute {
  path: string;
  doc: RouteDoc;
  handle: FrontHandler;
}

/** Who answers a request, where that is seen at a glance. Rare spellings, as with a host in the address, take the way through Fastify. */
export function frontOf(routes: readonly FrontRoute[], { method, url = '' }: IncomingMessage): FrontHandler | undefined {
  if (method !== VERB) return undefined;
  for (const { path, handle } of routes) {
    if (url.startsWith(path) && (url.length === path.length || url[path.length] === '?')) return handle;
  }
  return undefined;
}

/** The same as routes, for what `frontOf` does not see. */
export function registerFront(app: FastifyInstance, routes: readonly FrontRoute[]): void {
  for (const { path, doc, handle } of routes) {
    const handOver: onRequestHookHandler = (request, reply) => {
      reply.hijack();
      handle(request.raw, reply.raw);
    };
    app.post(path, { onRequest: handOver, config: { doc } }, () => undefined);
  }
}
