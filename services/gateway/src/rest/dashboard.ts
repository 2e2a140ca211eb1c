import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Dashboard, DashboardFile } from '../dashboard/dashboard-files.ts';
import type { RouteDoc } from '../openapi/route-doc.ts';
import type { Edge } from '../http/edge.ts';
import { RefusalError } from '../request/refusal.ts';

const ROOT: RouteDoc = {
  open: true,
  summary: 'Redirects to the dashboard.',
  responses: { 302: { description: 'Redirect to `/app/`.' } },
  refusals: [404],
};
const APP: RouteDoc = {
  open: true,
  summary: 'Serves the files of the dashboard, and its page for client-side routes.',
  description: 'The files require no token. The page requests its data with a token.',
  wildcard: 'file',
  responses: {
    200: { description: 'The file.', type: 'application/octet-stream' },
    304: { description: 'The client has the current file.' },
  },
  refusals: [404],
};

const YEAR_S = 31_536_000;

/** For a dashboard of the operator's own, which may set styles inline. Restricts scripts, styles and connections to this origin, and forbids framing. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self' ws: wss:; manifest-src 'self'; base-uri 'none'; form-action 'self'; object-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
};

/** For the bundled dashboard: no inline styles, and no strings as scripts. */
const BUNDLED_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; object-src 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** Sent until the bundled dashboard is built. It loads itself again by the header `refresh`. */
const BUILDING_PAGE =
  '<!doctype html><meta charset="utf-8"><title>Switchyard</title><p>The dashboard is being built. This page loads it as soon as it is ready.';
const BUILDING_RETRY_S = 2;

/** `GET /` and `/app/*`: the dashboard in `gateway.web.path`, or 404 without one. */
export function registerApp(app: FastifyInstance, edge: Edge): void {
  const getDashboard = (): Dashboard => {
    const { current } = edge.dashboard;
    if (current === undefined) throw createMissingDashboardError();
    return current;
  };
  const { tls } = edge.settings.current.gateway;
  const headers = { ...HEADERS, ...(tls === undefined ? {} : { 'strict-transport-security': `max-age=${YEAR_S}` }) };
  app.get('/', edge.route(ROOT), (_request, reply) => {
    if (!edge.dashboard.isBuilding) getDashboard();
    return reply.redirect('/app/', 302);
  });
  app.get<{ Params: { '*': string } }>('/app/*', edge.route(APP), (request, reply) => {
    const { isBundled, current, isBuilding } = edge.dashboard;
    reply.headers(isBundled ? { ...headers, 'content-security-policy': BUNDLED_POLICY } : headers);
    if (current === undefined && isBuilding) return sendBuilding(reply);
    return sendFile(getDashboard(), { request, reply, path: request.params['*'] });
  });
}

function sendFile(
  dashboard: Dashboard,
  { request, reply, path }: { request: FastifyRequest; reply: FastifyReply; path: string },
): FastifyReply {
  const file = dashboard(path);
  if (file === undefined) throw new RefusalError({ status: 404, message: 'Not Found', code: 'NOT_FOUND' });
  const { bytes, type, etag, immutable } = file;
  reply.headers({ etag, 'cache-control': immutable ? `public, max-age=${YEAR_S}, immutable` : 'no-cache' });
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  const encoding = chooseEncoding(request.headers['accept-encoding'], file);
  reply.header('vary', 'accept-encoding').type(type);
  return encoding === undefined ? reply.send(bytes) : reply.header('content-encoding', encoding).send(file.compressed[encoding]);
}

/** Returns the smallest stored encoding that the client accepts. A client that assigns it the weight 0 does not accept it. */
function chooseEncoding(accepted: string | undefined, { compressed }: DashboardFile): 'br' | 'gzip' | undefined {
  const encodings = (accepted ?? '').split(',').map((part) => part.trim().split(';'));
  const accepts = (name: string): boolean => encodings.some(([coding, weight]) => coding === name && !/^\s*q=0(\.0*)?$/.test(weight ?? ''));
  return (['br', 'gzip'] as const).find((name) => compressed[name] !== undefined && accepts(name));
}

function sendBuilding(reply: FastifyReply): FastifyReply {
  reply.code(503).headers({ 'retry-after': String(BUILDING_RETRY_S), refresh: String(BUILDING_RETRY_S), 'cache-control': 'no-store' });
  return reply.type('text/html; charset=utf-8').send(BUILDING_PAGE);
}

function createMissingDashboardError(): RefusalError {
  const message =
    'No dashboard is installed. Set gateway.web.path to the directory of one. The API is described in /openapi.json and /openrpc.json.';
  return new RefusalError({ status: 404, message, code: 'NOT_FOUND' });
}
