import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { HookReceived, StrictReceived } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { startHookTurn } from './delivery.ts';
import { followHooks, mayBeUnsigned, shownHeaders } from './configured-mappings.ts';
import { normalPath } from './mappings.ts';
import { createHookPaths } from './webhook-path.ts';
import { receiveMapped, receiveStrict, type Arrival, type Received } from './verified-body.ts';
import { hookRefusal, NO_DELIVERING, NO_WAKING } from './refusals.ts';
import { createSenders } from './sender-budgets.ts';
import { STRICT_PATH, StrictPayload } from './strict-body.ts';
import { NOT_FOUND, refuse, RefusalError } from '../request/refusal.ts';
import { createCallOptions } from '../request/trace.ts';

const REFUSALS = [401, 403, 404, 429, 500, 503];

const MAPPED: RouteDoc = {
  open: true,
  tag: 'webhooks',
  summary: 'A webhook of another system, for the first mapping that it is for.',
  description: 'Accepted once it is kept; the same delivery again within a day is answered the same, and nothing runs twice.',
  wildcard: 'path',
  body: z.json(),
  answers: { 200: { description: 'It is kept.', schema: HookReceived } },
  refusals: REFUSALS,
};

const STRICT: RouteDoc = {
  open: true,
  tag: 'webhooks',
  summary: 'An event of a fixed form, always signed.',
  description: 'For the mapping that its source is for, else for the default agent.',
  body: StrictPayload,
  answers: { 200: { description: 'It is kept.', schema: StrictReceived } },
  refusals: [...REFUSALS, 422],
};

/** `POST /hooks/webhook` and `/hooks/*`: there while `webhooks.enabled` says so, wherever `webhooks.path` says. */
export function registerWebhooks(app: FastifyInstance, edge: Edge): void {
  const { settings } = edge;
  const paths = createHookPaths(settings);
  const hooks = followHooks(edge);
  const read = createSenders(settings, (request) => edge.getClientAddress(request));

  /** Looked at before a body is read: what is switched off is not there. */
  const mounted = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    if (settings.current.webhooks.enabled && paths.has(request.originalUrl)) done();
    else refuse(request, reply, NOT_FOUND);
  };
  const route = (doc: RouteDoc) => {
    const { onRequest, config } = edge.route(doc);
    return { onRequest: [onRequest, mounted], config };
  };
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { '*': path = STRICT_PATH } = request.params as { '*'?: string };
    const arrival: Arrival = {
      hooks: hooks(),
      keys: edge.webhookKeys,
      path: normalPath(path),
      signed: { headers: request.headers, body: bodyOf(request), now: Date.now() },
      open: mayBeUnsigned(settings.current),
    };
    const { strict } = arrival.hooks;
    const isStrict = arrival.path === STRICT_PATH && strict !== undefined;
    const received = isStrict ? await receiveStrict(arrival, strict) : await receiveMapped(arrival);
    await keep(edge, { request, reply, path }, received);
    return isStrict ? { received: true } : { received: true, mapping: received.mapping.id };
  };

  void app.register((within, _options, done) => {
    within.removeAllContentTypeParsers();
    within.addContentTypeParser('*', (_request, payload: IncomingMessage, parsed) => read(payload, parsed));
    within.setErrorHandler((error, request, reply) => refuse(request, reply, hookRefusal(error), error));
    within.post(`${paths.base}/${STRICT_PATH}`, route(STRICT), answer);
    within.post(`${paths.base}/*`, route(MAPPED), answer);
    done();
  });
}

interface Wire {
  request: FastifyRequest;
  reply: FastifyReply;
  path: string;
}

/** Resolves once the delivery is kept. */
async function keep(
  { bus, settings }: Edge,
  { request, reply, path }: Wire,
  { mapping, payload, otherwise, key }: Received,
): Promise<void> {
  if (mapping.action === 'wake') throw new RefusalError(NO_WAKING);
  if (mapping.delivers) throw new RefusalError(NO_DELIVERING);
  const query = request.query as Record<string, unknown>;
  const given = { payload, headers: shownHeaders(request.headers, settings.current.webhooks), query, path, now: new Date().toISOString() };
  const turn = { mapping, given, otherwise, key, tenant: settings.current.tenantId };
  const { repeated } = await startHookTurn(bus, turn, createCallOptions(request));
  if (repeated) reply.header('idempotency-replayed', 'true');
  reply.header('cache-control', 'no-store');
}

function bodyOf({ body }: FastifyRequest): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}
