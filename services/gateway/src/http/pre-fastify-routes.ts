import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RouteDoc } from '../openapi/route-doc.ts';
import type { FastifyInstance, onRequestHookHandler } from 'fastify';

/** The method of every pre-Fastify route. */
export const METHOD = 'POST';

/** Handles a request. Never throws. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * A `POST` route that is handled before Fastify, because routing, hooks and objects of Fastify are a fifth of the cost of a short call
 * (docs/decisions/0014).
 */
export interface PreFastifyRoute {
  path: string;
  doc: RouteDoc;
  handle: RequestHandler;
}

/** Returns the handler of a plain path. Unusual spellings, such as an absolute URL, go through Fastify. */
export function findRequestHandler(routes: readonly PreFastifyRoute[], { method, url = '' }: IncomingMessage): RequestHandler | undefined {
  if (method !== METHOD) return undefined;
  for (const { path, handle } of routes) {
    if (url.startsWith(path) && (url.length === path.length || url[path.length] === '?')) return handle;
  }
  return undefined;
}

/** Registers the routes with Fastify too, for the spellings that `findRequestHandler` does not match. */
export function registerPreFastifyRoutes(app: FastifyInstance, routes: readonly PreFastifyRoute[]): void {
  for (const { path, doc, handle } of routes) {
    const hijack: onRequestHookHandler = (request, reply) => {
      reply.hijack();
      handle(request.raw, reply.raw);
    };
    app.post(path, { onRequest: hijack, config: { doc } }, () => undefined);
  }
}
