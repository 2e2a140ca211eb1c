import type { IncomingMessage } from 'node:http';
import { ServiceError, type ErrorCode } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { HookReceived, StrictReceived } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { startHookTurn } from './delivery.ts';
import { followHooks, allowsUnsigned, removeCredentialHeaders } from './configured-mappings.ts';
import { normalizePath } from './mappings.ts';
import { wakeHeartbeats } from './wake-heartbeats.ts';
import { createHookPaths } from './webhook-path.ts';
import { receiveMapped, receiveStrict, type WebhookRequest, type VerifiedDelivery } from './verified-body.ts';
import { STRICT_PATH, StrictPayload } from './strict-body.ts';
import { BODY_TOO_LARGE, findRefusal, INTERNAL, NOT_FOUND, refuse, RefusalError, type Refusal } from '../request/refusal.ts';
import { readBody } from '../request/request-body.ts';
import { createCallOptions } from '../request/trace.ts';

const REFUSALS = [401, 403, 404, 429, 500, 503];

const MAPPED: RouteDoc = {
  open: true,
  tag: 'webhooks',
  summary: 'Receives a webhook for the first matching mapping.',
  description: 'Responds when the delivery is stored. A repetition within one day gets the same response and does not run again.',
  wildcard: 'path',
  body: z.json(),
  responses: { 200: { description: 'The delivery is stored.', schema: HookReceived } },
  refusals: REFUSALS,
};

const STRICT: RouteDoc = {
  open: true,
  tag: 'webhooks',
  summary: 'Receives a signed event with a fixed schema.',
  description: 'Uses the mapping of the event source, or the default agent.',
  body: StrictPayload,
  responses: { 200: { description: 'The delivery is stored.', schema: StrictReceived } },
  refusals: [...REFUSALS, 422],
};

/** `POST /hooks/webhook` and `/hooks/*`, below `webhooks.path` while `webhooks.enabled` is set. */
export function registerWebhooks(app: FastifyInstance, edge: Edge): void {
  const { settings } = edge;
  const paths = createHookPaths(settings);
  const hooks = followHooks(edge);
  const read = createSenderBodyReader(settings, (request) => edge.getClientAddress(request));

  /** Returns 404 before the body is read while webhooks are disabled. */
  const checkEnabled = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    if (settings.current.webhooks.enabled && paths.has(request.originalUrl)) done();
    else refuse(request, reply, NOT_FOUND);
  };
  const route = (doc: RouteDoc) => {
    const { onRequest, config } = edge.route(doc);
    return { onRequest: [onRequest, checkEnabled], config };
  };
  const handleDelivery = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { '*': path = STRICT_PATH } = request.params as { '*'?: string };
    const webhookRequest: WebhookRequest = {
      hooks: hooks(),
      keys: edge.webhookKeys,
      path: normalizePath(path),
      signed: { headers: request.headers, body: getBody(request), now: Date.now() },
      allowUnsigned: allowsUnsigned(settings.current.webhooks, { address: edge.getClientAddress(request.raw), headers: request.headers }),
    };
    const { strict } = webhookRequest.hooks;
    const isStrict = webhookRequest.path === STRICT_PATH && strict !== undefined;
    const delivery = isStrict ? await receiveStrict(webhookRequest, strict) : await receiveMapped(webhookRequest);
    await acceptDelivery(edge, { request, reply, path }, delivery);
    return isStrict ? { received: true } : { received: true, mapping: delivery.mapping.id };
  };

  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addHook('onRequest', (request, _reply, next) => {
      // Fastify refuses a content type that is not a media type. Here the body decides.
      if (request.mediaType === undefined) delete request.raw.headers['content-type'];
      next();
    });
    scope.addContentTypeParser('*', (_request, payload: IncomingMessage, parsed) => read(payload, parsed));
    scope.setErrorHandler((error, request, reply) => refuse(request, reply, toHookRefusal(error), error));
    scope.post(`${paths.base}/${STRICT_PATH}`, route(STRICT), handleDelivery);
    scope.post(`${paths.base}/*`, route(MAPPED), handleDelivery);
    done();
  });
}

interface WebhookExchange {
  request: FastifyRequest;
  reply: FastifyReply;
  path: string;
}

/** Stores the delivery. Rejects mappings that are not supported. */
async function acceptDelivery(
  { bus, settings }: Edge,
  { request, reply, path }: WebhookExchange,
  { mapping, payload, fallbackMessage, key }: VerifiedDelivery,
): Promise<void> {
  if (mapping.action === 'agent' && mapping.delivers) throw new RefusalError(DELIVERY_UNSUPPORTED);
  const query = request.query as Record<string, unknown>;
  const variables = {
    payload,
    headers: removeCredentialHeaders(request.headers, settings.current.webhooks),
    query,
    path,
    now: new Date().toISOString(),
  };
  const delivery = { mapping, variables, fallbackMessage, key, tenant: settings.current.tenantId };
  const options = createCallOptions(request);
  const { repeated } =
    mapping.action === 'wake' ? await wakeHeartbeats(bus, { ...delivery, mapping }, options) : await startHookTurn(bus, delivery, options);
  if (repeated) reply.header('idempotency-replayed', 'true');
  reply.header('cache-control', 'no-store');
}

function getBody({ body }: FastifyRequest): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

/** Reads bodies of unauthenticated senders, with a limit on the bytes held per address. */
function createSenderBodyReader(settings: Settings<'webhooks'>, getAddress: (request: IncomingMessage) => string): typeof read {
  const senders = new Map<string, { incompleteBytes: number; requests: number }>();

  function read(payload: IncomingMessage, done: (error: Error | null, body?: Buffer) => void): void {
    const address = getAddress(payload);
    const caller = senders.get(address) ?? { incompleteBytes: 0, requests: 0 };
    senders.set(address, caller);
    caller.requests += 1;
    readBody(payload, { limit: settings.current.webhooks.maxBodyBytes, caller }, (error, body) => {
      caller.requests -= 1;
      if (caller.requests === 0) senders.delete(address);
      done(error, body);
    });
  }

  return read;
}

/** No service delivers responses to channels yet. Such a webhook is rejected, because its response would be lost. */
const DELIVERY_UNSUPPORTED: Refusal = {
  status: 503,
  message: 'Delivery to a channel is not supported. Use a mapping without deliver.',
  code: 'UNAVAILABLE',
  retryAfterMs: 60_000,
};

const TOO_LARGE: Refusal = { status: 400, message: 'Request body exceeds maximum size', code: 'OUT_OF_RANGE' };

/** Errors after which the sender should retry. Other errors are faults of the gateway or its configuration. */
const RETRYABLE_CODES: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'ABORTED']);
const RETRY_MS = 1_000;

/** Converts an error to a refusal for senders: one sentence, without details of the configuration. */
function toHookRefusal(error: unknown): Refusal {
  if (error instanceof RefusalError) return { ...(error.refusal === BODY_TOO_LARGE ? TOO_LARGE : error.refusal), bare: true };
  const refusal = findRefusal(error);
  if (refusal === undefined || !(error instanceof ServiceError) || !RETRYABLE_CODES.has(error.code)) return { ...INTERNAL, bare: true };
  return { retryAfterMs: RETRY_MS, ...refusal, message: 'The webhook cannot be stored at the moment. Send it again.', bare: true };
}
