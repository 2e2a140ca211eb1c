import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Dashboard } from '../dashboard/dashboard-files.ts';
import type { RouteDoc } from '../openapi/route-doc.ts';
import type { Edge } from '../http/edge.ts';
import { RefusalError } from '../request/refusal.ts';

const ROOT: RouteDoc = {
  open: true,
  summary: 'Leads to the dashboard, where there is one.',
  answers: { 302: { description: 'To `/app/`.' } },
  refusals: [404],
};
const APP: RouteDoc = {
  open: true,
  summary: 'The files of the dashboard; what is no file is its page.',
  description: 'Anybody may have them: what they show, they ask for with a token.',
  wildcard: 'file',
  answers: { 200: { description: 'The file.', type: 'application/octet-stream' }, 304: { description: 'The client has it.' } },
  refusals: [404],
};

const YEAR_S = 31_536_000;

/** Restricts scripts, styles and connections to this origin, and forbids framing. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self' ws: wss:; manifest-src 'self'; base-uri 'none'; form-action 'self'; object-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
};

/** `GET /` and `/app/*`: the dashboard in `gateway.web.path`. Without one both say so. */
export function registerApp(app: FastifyInstance, edge: Edge): void {
  const there = (): Dashboard => {
    const { current } = edge.dashboard;
    if (current === undefined) throw none();
    return current;
  };
  const { tls } = edge.settings.current.gateway;
  const headers = { ...HEADERS, ...(tls === undefined ? {} : { 'strict-transport-security': `max-age=${YEAR_S}` }) };
  app.get('/', edge.route(ROOT), (_request, reply) => {
    there();
    return reply.redirect('/app/', 302);
  });
  app.get<{ Params: { '*': string } }>('/app/*', edge.route(APP), (request, reply) => {
    return send(there(), { request, reply: reply.headers(headers), path: request.params['*'] });
  });
}

function send(
  dashboard: Dashboard,
  { request, reply, path }: { request: FastifyRequest; reply: FastifyReply; path: string },
): FastifyReply {
  const file = dashboard(path);
  if (file === undefined) throw new RefusalError({ status: 404, message: 'Not Found', code: 'NOT_FOUND' });
  const { bytes, type, etag, lasting } = file;
  reply.headers({ etag, 'cache-control': lasting ? `public, max-age=${YEAR_S}, immutable` : 'no-cache' });
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  return reply.type(type).send(bytes);
}

function none(): RefusalError {
  const message =
    'There is no dashboard here: gateway.web.path names the directory of one. What can be asked is in /openapi.json and /openrpc.json.';
  return new RefusalError({ status: 404, message, code: 'NOT_FOUND' });
}
