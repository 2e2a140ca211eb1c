import { buildOpenRpcInSteps } from '@switchyard/contracts';
import { inSteps } from '@switchyard/service-kit';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { renderLlmsText } from '../openapi/llms-txt.ts';
import type { Route } from '../openapi/route-doc.ts';
import { buildOpenApiInSteps } from '../openapi/openapi-document.ts';
import type { Edge } from '../http/edge.ts';

/** Documents that are rendered on first use, in steps, so that other requests are not delayed. */
export interface Documents {
  /** The JSON result of `rpc.discover`. */
  openRpc: () => Promise<string>;
  openApi: () => Promise<string>;
  llms: () => Promise<string>;
}

interface DocumentsOptions {
  /** The public URL of the gateway. */
  address: () => string;
  version: string;
  /** All routes. The list is complete when the first request arrives. */
  routes: readonly Route[];
}

/** Caches the documents of the gateway and renders each again when its address changes. */
export function createDocuments({ address, version, routes }: DocumentsOptions): Documents {
  const cached = (render: (url: string) => string | Promise<string>): (() => Promise<string>) => {
    let last: { url: string; text: Promise<string> } | undefined;
    return () => {
      const url = address().replace(/\/+$/, '');
      if (last?.url !== url) last = { url, text: Promise.resolve(render(url)) };
      return last.text;
    };
  };
  return {
    openRpc: cached(async (url) => JSON.stringify(await inSteps(buildOpenRpcInSteps({ url: `${url}/rpc`, version })))),
    openApi: cached(async (url) => JSON.stringify(await inSteps(buildOpenApiInSteps(routes, { url, version })))),
    llms: cached((url) => renderLlmsText(routes, { url })),
  };
}

/** `/openrpc.json`, `/openapi.json` and `/llms.txt`. */
export function registerDocuments(app: FastifyInstance, edge: Edge, { openRpc, openApi, llms }: Documents): void {
  const json = (text: () => Promise<string>) => async (_: unknown, reply: FastifyReply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(await text());
  const responses = { 200: { description: 'The document.', type: 'application/json' } } as const;
  app.get('/openrpc.json', edge.route({ summary: 'Describes the JSON-RPC methods as OpenRPC 1.3.2.', responses }), json(openRpc));
  app.get('/openapi.json', edge.route({ summary: 'Describes the HTTP routes as OpenAPI 3.1.', responses }), json(openApi));
  const llmsDoc = {
    summary: 'Summarizes routes and methods in Markdown, for language models.',
    responses: { 200: { description: 'Markdown.', type: 'text/plain' } },
  } as const;
  app.get('/llms.txt', edge.route(llmsDoc), async (_, reply) =>
    reply.header('content-type', 'text/plain; charset=utf-8').send(await llms()),
  );
}
