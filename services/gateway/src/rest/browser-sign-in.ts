import type { IncomingMessage } from 'node:http';
import { mintId } from '@switchyard/security';
import { MAX } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { checkScope, isRefusal } from '../auth/admission.ts';
import type { Edge } from '../http/edge.ts';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { BrowserToken } from '../openapi/schemas.ts';
import type { Caller } from '../request/caller.ts';
import { parseJsonBody, readBody } from '../request/request-body.ts';
import { createBadRequest, RefusalError } from '../request/refusal.ts';
import { createCallOptions } from '../request/trace.ts';
import { toRestError } from './rest-errors.ts';

/** Lifetime of a browser's token: a working day. A token that expires earlier shortens it. */
const BROWSER_TOKEN_TTL_MS = 12 * 60 * 60 * 1_000;

export const SignInBody = z.strictObject({ ticket: z.string().min(1).max(MAX.id).describe('a ticket of POST /api/tickets, for one use') });

const DOC: RouteDoc = {
  open: true,
  summary: 'Exchanges a ticket for a token of one browser.',
  description:
    'The token has the scopes of the ticket’s token, which needs scope admin, expires after 12 hours, and can be revoked by its id.',
  body: SignInBody,
  example: { body: { ticket: 'ticket_0fGkQm3xY7Zs9LbR2cVd' } },
  responses: { 201: { description: 'The token.', schema: BrowserToken } },
  refusals: [401, 403],
};

/** A body has one ticket. */
const MAX_BODY_BYTES = 1_024;
/** Incomplete bodies of all addresses together, because they arrive before the caller is known. */
const anonymous = { incompleteBytes: 0 };

/** `POST /api/sign-in`: the ticket arrives in the body, so that no address and no log contains it. */
export function registerSignIn(app: FastifyInstance, edge: Edge): void {
  void app.register((scope, _options, registered) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload: IncomingMessage, done) => {
      readBody(payload, { limit: MAX_BODY_BYTES, caller: anonymous }, done);
    });
    scope.post('/api/sign-in', edge.route(DOC), async (request, reply) => {
      const { data } = SignInBody.safeParse(parseJsonBody(request));
      if (data === undefined) throw createBadRequest('The body must be {"ticket": "…"} with a ticket of POST /api/tickets');
      const caller = await edge.redeemTicket(request.raw, data.ticket);
      if (isRefusal(caller)) throw new RefusalError(caller);
      const refused = checkScope(caller, ['admin']);
      if (refused) throw new RefusalError(refused);
      const token = await createBrowserToken(edge, caller, createCallOptions(request));
      reply.code(201).header('cache-control', 'no-store');
      return { id: token.id, token: token.secret, scopes: token.scopes, expiresAt: token.expiresAt };
    });
    registered();
  });
}

/** Creates the token with the rights of the caller. It ends before the caller's token does. */
async function createBrowserToken({ bus }: Edge, { scopes, principal, expiresAt }: Caller, options: ReturnType<typeof createCallOptions>) {
  const ttlMs = Math.floor(Math.min(BROWSER_TOKEN_TTL_MS, expiresAt - Date.now()));
  const params = { id: mintId('browser'), scopes: [...scopes], sessions: principal.sessions ?? ('tenant' as const), ttlMs };
  return bus
    .as(principal)
    .call('tokens.create', params, options)
    .catch((error: unknown) => {
      throw toRestError(error);
    });
}
