import { buildOpenRpcInSteps } from '@switchyard/contracts';
import { inSteps } from '@switchyard/service-kit';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { llmsText } from '../openapi/llms-txt.ts';
import type { Route } from '../openapi/route-doc.ts';
import { openApiSteps } from '../openapi/openapi-document.ts';
import type { Edge } from '../http/edge.ts';

/** Written when they are first asked for, in steps: nobody else waits for that. */
export interface Documents {
  /** JSON, as `rpc.discover` has it. */
  openRpc: () => Promise<string>;
  openApi: () => Promise<string>;
  llms: () => Promise<string>;
}

interface DocumentsGiven {
  /** Where clients reach this gateway. */
  address: () => string;
  version: string;
  /** Every route; complete once the first request comes. */
  routes: readonly Route[];
}

/** Caches the documents of the gateway and renders each again when its address changes. */
export function createDocuments({ address, version, routes }: DocumentsGiven): Documents {
  const written = (write: (url: string) => string | Promise<string>): (() => Promise<string>) => {
    let last: { url: string; text: Promise<string> } | undefined;
    return () => {
      const url = address().replace(/\/+$/, '');
      if (last?.url !== url) last = { url, text: Promise.resolve(write(url)) };
      return last.text;
    };
  };
  return {
    openRpc: written(async (url) => JSON.stringify(await inSteps(buildOpenRpcInSteps({ url: `${url}/rpc`, version })))),
    openApi: written(async (url) => JSON.stringify(await inSteps(openApiSteps(routes, { url, version })))),
    llms: written((url) => llmsText(routes, { url })),
  };
}

/** `/openrpc.json`, `/openapi.json` and `/llms.txt`. */
export function registerDocuments(app: FastifyInstance, edge: Edge, { openRpc, openApi, llms }: Documents): void {
  const json = (text: () => Promise<string>) => async (_: unknown, reply: FastifyReply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(await text());
  const answers = { 200: { description: 'The document.', type: 'application/json' } } as const;
  app.get('/openrpc.json', edge.route({ summary: 'The JSON-RPC methods, as OpenRPC 1.3.2.', answers }), json(openRpc));
  app.get('/openapi.json', edge.route({ summary: 'The HTTP routes, as OpenAPI 3.1.', answers }), json(openApi));
  const plain = {
    summary: 'Routes and methods in a few words, for models.',
    answers: { 200: { description: 'Markdown.', type: 'text/plain' } },
  } as const;
  app.get('/llms.txt', edge.route(plain), async (_, reply) => reply.header('content-type', 'text/plain; charset=utf-8').send(await llms()));
}
